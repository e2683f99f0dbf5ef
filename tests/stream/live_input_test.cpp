#include "tautline/stream/live_input.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "tautline/core/error.h"
#include "tests/support/pipe.h"
#include "tests/support/scratch.h"
#include "tests/support/seed.h"

namespace tautline::stream {
namespace {

using namespace std::chrono_literals;

class LiveInputs : public ::testing::Test {
 protected:
  void SetUp() override {
    std::signal(SIGPIPE, SIG_IGN);
    ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  }
  std::vector<std::byte> bytes(std::size_t count) {
    std::vector<std::byte> all(count);
    for (std::byte& byte : all) byte = static_cast<std::byte>(random());
    return all;
  }
  // Until `input` has ended, in pieces of any size.
  std::vector<std::byte> read_all(LiveInput& input) {
    std::vector<std::byte> all, piece(1 + random() % 9000);
    while (!input.ended()) {
      const std::size_t got = input.read(std::span(piece).first(1 + random() % piece.size()), 20ms);
      all.insert(all.end(), piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(got));
    }
    return all;
  }
  int open_writer() { return open(fifo.c_str(), O_WRONLY | O_CLOEXEC); }

  std::mt19937_64 random = tests::generator();
  tests::ScratchFolder scratch;
  const std::string fifo = scratch / "fifo";
};

void put(int writer, std::span<const std::byte> bytes) {
  tests::put(writer, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

// Through a buffer much smaller than what comes.
TEST_F(LiveInputs, GiveEveryByteInOrder) {
  const auto sent = bytes(3'000'017);
  LiveInput input(fifo, 5000, {});
  std::jthread writing([&, writer = open_writer(), seed = random()] {
    std::mt19937_64 draw(seed);
    for (std::size_t place = 0; place < sent.size();) {
      const std::size_t some = std::min<std::size_t>(sent.size() - place, 1 + draw() % 20'000);
      put(writer, std::span(sent).subspan(place, some));
      place += some;
    }
    close(writer);
  });
  const auto head = input.head(100);
  EXPECT_TRUE(std::equal(head.begin(), head.end(), sent.begin(), sent.begin() + 100));
  EXPECT_EQ(read_all(input), sent);
  EXPECT_EQ(input.given_bytes(), sent.size());
  EXPECT_FALSE(input.stopped());
  EXPECT_EQ(input.fault(), "");
}

TEST_F(LiveInputs, ReadingGivesUpAfterItsWait) {
  LiveInput input(fifo, 5000, {});
  std::vector<std::byte> room(10);
  EXPECT_EQ(input.read(room, 10ms), 0u);  // nobody has opened it for writing yet
  EXPECT_FALSE(input.ended());
  const int writer = open_writer();
  const auto sent = bytes(3);
  put(writer, sent);
  EXPECT_EQ(input.read(std::span(room).first(3), 10s), 3u);
  EXPECT_EQ(input.read(room, 10ms), 0u);
  EXPECT_FALSE(input.ended());
  close(writer);
  EXPECT_EQ(input.read(room, 10s), 0u);
  EXPECT_TRUE(input.ended());
}

// The pipe's bytes at the time of the stop are delivered; the reader does not wait for later ones.
TEST_F(LiveInputs, StoppedTheyGiveWhatHadCome) {
  for (const std::size_t buffer : {4096, 1 << 20}) {
    std::stop_source stop;
    LiveInput input(fifo, buffer, stop.get_token());
    const int writer = open_writer();
    const auto sent = bytes(40'000);  // more than the small buffer, less than a pipe
    put(writer, sent);
    stop.request_stop();
    EXPECT_EQ(read_all(input), sent) << buffer;
    EXPECT_TRUE(input.stopped());
    close(writer);
  }
}

TEST_F(LiveInputs, GivenUpTheyWaitForNobody) {
  const auto started = std::chrono::steady_clock::now();
  {
    LiveInput input(fifo, 4096, {});
    const int writer = open_writer();
    put(writer, bytes(40'000));
    close(writer);
  }
  EXPECT_LT(std::chrono::steady_clock::now() - started, 10s);
}

TEST_F(LiveInputs, ThatCannotBeReadAreErrors) {
  EXPECT_THROW(LiveInput(scratch / "none", 4096, {}), core::Error);
  // A folder opens, and cannot be read.
  LiveInput folder(scratch.path().string(), 4096, {});
  EXPECT_EQ(folder.head(10).size(), 0u);
  EXPECT_TRUE(folder.ended());
  EXPECT_NE(folder.fault().find("cannot be read at byte 0"), std::string::npos) << folder.fault();
}

TEST_F(LiveInputs, KnowWhatIsAStream) {
  EXPECT_TRUE(formats::is_stream("-"));
  EXPECT_TRUE(formats::is_stream(fifo));
  EXPECT_TRUE(formats::is_stream("/dev/null"));
  EXPECT_FALSE(formats::is_stream(scratch.path().string()));
  EXPECT_FALSE(formats::is_stream(scratch / "none"));
}

}  // namespace
}  // namespace tautline::stream

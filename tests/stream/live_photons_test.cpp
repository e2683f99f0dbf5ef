#include "tautline/stream/live_photons.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <thread>

#include "tests/formats/ptu/tag_file.h"
#include "tests/support/pipe.h"
#include "tests/support/scratch.h"
#include "tests/support/seed.h"

namespace tautline::stream {
namespace {

using formats::Photon;
using formats::TagBreak;
using formats::ptu::RecordType;
using tests::put;

class LiveTags : public ::testing::TestWithParam<RecordType> {
 protected:
  void SetUp() override {
    std::signal(SIGPIPE, SIG_IGN);
    ASSERT_EQ(mkfifo(fifo_.c_str(), 0600), 0);
  }
  // Adds what comes until a reading gives nothing; `piece` photons at most at a time.
  static void take(formats::PhotonReader& reader, std::vector<Photon>& all, std::size_t piece) {
    std::vector<Photon> photons(piece);
    while (const std::size_t found = reader.read(photons))
      all.insert(all.end(), photons.begin(), photons.begin() + static_cast<std::ptrdiff_t>(found));
  }
  void expect_those_of_the_file(const std::string& bytes, const formats::PhotonReader& live,
                                const std::vector<Photon>& photons) {
    tests::save(folder_ / "x.ptu", bytes);
    const auto file = formats::open_photons(folder_ / "x.ptu");
    std::vector<Photon> expected;
    take(*file, expected, 1 << 17);
    EXPECT_TRUE(file->damage().any());
    EXPECT_TRUE(tests::same_photons(photons, expected))
        << photons.size() << " and " << expected.size() << " photons";
    EXPECT_EQ(live.counts().records, file->counts().records);
    EXPECT_EQ(live.counts().unknown_records, file->counts().unknown_records);
    EXPECT_EQ(live.counts().missing_overflows, file->counts().missing_overflows);
    EXPECT_EQ(live.damage().lost_samples, file->damage().lost_samples);
    EXPECT_EQ(live.breaks().size(), file->breaks().size());
  }

  std::mt19937_64 random_ = tests::generator();
  tests::ScratchFolder folder_;
  const std::string fifo_ = folder_ / "fifo";
  tests::RandomTags tags_{GetParam(), 20'000, random_};
};

// The stream pauses again and again inside of records that were never written, and the reader reads all that came.
TEST_P(LiveTags, BlankRecordsWhereAStreamPausesAreNoPhotons) {
  std::vector<std::uint32_t>& words = tags_.words;
  const std::size_t first = 1000 + random_() % 5000, count = 10 + random_() % 200;
  const std::uint32_t value = random_() % 2 == 0 ? 0 : ~0u;
  SCOPED_TRACE(fmt::format("{} of {:x} from {}", count, value, first));
  std::fill_n(words.begin() + static_cast<std::ptrdiff_t>(first), count, value);
  const std::string bytes = tests::tag_file(GetParam().code, words);
  const std::size_t header = bytes.size() - 4 * words.size();
  auto input = std::make_unique<LiveInput>(fifo_, std::size_t{1} << 20, std::stop_token());
  const int writer = open(fifo_.c_str(), O_WRONLY | O_CLOEXEC);
  const std::size_t ends[]{first + 1 + random_() % 6, first + 7};
  put(writer, std::string_view(bytes).substr(0, header));
  LivePhotons live(std::move(input));
  std::vector<Photon> photons;
  std::size_t sent = header;
  for (const std::size_t end : ends) {
    // With some bytes of the next record.
    const std::size_t until = header + 4 * end + random_() % 4;
    put(writer, std::string_view(bytes).substr(sent, until - sent));
    sent = until;
    for (int more = 0, all = 0; more < 2 && all < 100; ++all) {
      take(live, photons, 1 + random_() % 9000);
      more += live.counts().records >= first ? 1 : 0;
    }
  }
  EXPECT_GE(live.counts().records, first);  // a pause holds nothing else back
  std::jthread writing([&] {
    put(writer, std::string_view(bytes).substr(sent));
    close(writer);
  });
  while (!live.ended()) take(live, photons, 1 + random_() % 9000);
  expect_those_of_the_file(bytes, live, photons);
}

TEST_P(LiveTags, DamagedOnesAreThoseOfTheFileInReadingsOfAnySize) {
  tests::damage_records(tags_.words, random_);
  const std::string bytes = tests::tag_file(GetParam().code, tags_.words);
  auto input = std::make_unique<LiveInput>(fifo_, bytes.size() + 1, std::stop_token());
  std::jthread writing([&, writer = open(fifo_.c_str(), O_WRONLY | O_CLOEXEC)] {
    put(writer, bytes);
    close(writer);
  });
  (void)input->head(bytes.size() + 1);  // all has come: no pause
  LivePhotons live(std::move(input));
  std::vector<Photon> photons;
  const std::size_t most = random_() % 2 == 0 ? 70 : 9000;
  while (!live.ended()) take(live, photons, 1 + random_() % most);
  expect_those_of_the_file(bytes, live, photons);
}

// Whole records, or a part of one, behind as many as the header states: left out and counted, as of the file.
TEST_P(LiveTags, BytesBehindTheRecordsAreSaid) {
  std::string bytes = tests::tag_file(GetParam().code, tags_.words);
  const std::size_t records_end = bytes.size(), spare = 1 + random_() % 100'000;
  bytes.append(spare, static_cast<char>(random_()));
  auto input = std::make_unique<LiveInput>(fifo_, std::size_t{1} << 20, std::stop_token());
  std::jthread writing([&, writer = open(fifo_.c_str(), O_WRONLY | O_CLOEXEC)] {
    put(writer, bytes);
    close(writer);
  });
  LivePhotons live(std::move(input));
  std::vector<Photon> photons;
  while (!live.ended()) take(live, photons, 1 + random_() % 9000);
  expect_those_of_the_file(bytes, live, photons);
  EXPECT_EQ(live.damage().trailing_bytes, spare);
  ASSERT_EQ(live.damage().messages.size(), 1u);
  const std::string words =
      fmt::format("bytes behind the records, byte {}: {},", records_end, spare);
  EXPECT_NE(live.damage().messages[0].find(words), std::string::npos) << live.damage().messages[0];
}

INSTANTIATE_TEST_SUITE_P(Types, LiveTags, ::testing::ValuesIn(formats::ptu::kRecordTypes),
                         [](const auto& info) { return fmt::format("of{:08x}", info.param.code); });

}  // namespace
}  // namespace tautline::stream

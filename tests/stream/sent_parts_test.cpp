// Parts of filterbanks that `send` takes: where they begin and end behind gaps, and what is refused.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tautline/formats/packets/packet_layout.h"
#include "tautline/stream/send.h"
#include "tautline/stream/sent_rows.h"
#include "tests/formats/sigproc/sigproc_files.h"
#include "tests/support/error_of.h"
#include "tests/support/scratch.h"
#include "tests/support/seed.h"

namespace tautline::stream {
namespace {

constexpr std::size_t kChannels = 16;
constexpr double kSample_s = 1e-3;

class SentParts : public ::testing::Test {
 protected:
  void write(const std::string& name, std::size_t times, double start_mjd) const {
    tests::SigprocShape shape;
    shape.nchans = kChannels;
    shape.tsamp = kSample_s;
    shape.tstart = start_mjd;
    const std::vector<char> data(times * kChannels, 7);
    const auto file = tests::sigproc_header(shape).data(data).bytes();
    std::ofstream(scratch_ / name, std::ios::binary)
        .write(file.data(), static_cast<std::streamsize>(file.size()));
  }
  // An hour lies between the begins of two files.
  SendConfig two_files() const {
    write("a.fil", first_, 58'000.25);
    write("b.fil", second_, 58'000.25 + 1.0 / 24);
    SendConfig config;
    config.files = {scratch_ / "a.fil", scratch_ / "b.fil"};
    config.rate = 0;
    return config;
  }
  SendConfig to_null(SendConfig config) const {
    config.to = {"/dev/null"};
    return config;
  }

  tests::ScratchFolder scratch_;
  std::mt19937_64 random_ = tests::generator();
  std::size_t first_ = 1000 + random_() % 1000, second_ = 1000 + random_() % 1000;
};

TEST_F(SentParts, BehindAGapBeginAndEndThere) {
  SendConfig config = two_files();
  const std::size_t skipped = random_() % 500, taken = 100 + random_() % 300;
  config.start_s = static_cast<double>(first_ + skipped) * kSample_s;
  config.duration_s = static_cast<double>(taken) * kSample_s;
  const auto rows =
      open_rows_to_send(config, SentKind::filterbank, formats::packets::read_layout("filterbank"));
  const auto whole = formats::open_filterbank(config.files);
  ASSERT_EQ(whole->segments().size(), 2U);
  const core::Rational rate = whole->description().rate_hz;
  const auto since = [&](const core::Instant& instant) {
    return core::samples_between(whole->segments()[1].start, instant, rate);
  };
  EXPECT_EQ(since(rows->description().start), static_cast<std::int64_t>(skipped));
  EXPECT_EQ(since(rows->end()), static_cast<std::int64_t>(skipped + taken));
  core::RawBlock block;
  SegmentPlace segment;
  std::size_t sent = 0;
  for (std::size_t got; (got = rows->read(64, block, segment)) > 0; sent += got) {
    EXPECT_EQ(segment.first_block, sent == 0);
    EXPECT_EQ(since(segment.start), static_cast<std::int64_t>(skipped + sent));
  }
  EXPECT_EQ(sent, taken);
  // Through a pipe, which takes no gaps.
  EXPECT_GT(send_files(to_null(config), {}, {}).bytes, taken * kChannels);
  config.start_s = 0.5;
  config.duration_s = -1;
  EXPECT_EQ(tests::error_of([&] { send_files(to_null(config), {}, {}); }).kind(),
            core::ErrorKind::unsupported);
}

TEST_F(SentParts, BehindTheEndAreRefused) {
  SendConfig config = two_files();
  for (const double start_s : {static_cast<double>(first_ + second_) * kSample_s, 1e300}) {
    config.start_s = start_s;
    for (const bool pipe : {false, true}) {
      const core::Error error = tests::error_of([&] {
        if (pipe)
          send_files(to_null(config), {}, {});
        else
          open_rows_to_send(config, SentKind::filterbank,
                            formats::packets::read_layout("filterbank"));
      });
      EXPECT_EQ(error.field(), "start_s");
      EXPECT_EQ(error.kind(), core::ErrorKind::config);
    }
  }
}

TEST_F(SentParts, OfAFileThatGetsShorterAreNoSuccess) {
  write("a.fil", 200'000 + random_() % 1000, 58'000.25);
  SendConfig config;
  config.files = {scratch_ / "a.fil"};
  config.rate = 0;
  const core::Error error = tests::error_of([&] {
    send_files(to_null(config),
               [&](double) { std::filesystem::resize_file(scratch_ / "a.fil", 1000); }, {});
  });
  EXPECT_EQ(error.kind(), core::ErrorKind::io);
  EXPECT_EQ(error.value(), "ended while it was read");
}

}  // namespace
}  // namespace tautline::stream

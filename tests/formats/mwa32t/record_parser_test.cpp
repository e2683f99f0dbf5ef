#include "tautline/formats/mwa32t/record_parser.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <random>
#include <vector>

#include "tests/support/seed.h"

namespace tautline::formats::mwa32t {
namespace {

// Samples that do not count, with a hash of their time.
class ParsedRecords : public ::testing::TestWithParam<Mode> {
 protected:
  std::vector<std::byte> record(std::int64_t time) const {
    std::vector<std::byte> bytes(record_bytes(GetParam()));
    std::mt19937_64 samples(static_cast<std::uint64_t>(time) * 77 + 5);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(samples());
    bytes[0] = static_cast<std::byte>(time & 255);
    bytes[1] = static_cast<std::byte>(time >> 8 & 255);
    return bytes;
  }
  void send(std::int64_t time) {
    const auto bytes = record(time);
    sent_.insert(sent_.end(), bytes.begin(), bytes.end());
  }
  // Gives the parser what was sent in pieces of any size, and takes records in runs of any length.
  void parse(RecordParser& parser, std::int64_t near, bool last = true) {
    std::size_t given = 0, done = 0;
    for (;;) {
      const std::span<const std::byte> there(sent_.data() + done, given - done);
      const bool all = given == sent_.size();
      const auto found = parser.look(there, last && all, near);
      done += found.skip;
      if (found.count > 0) {
        const std::size_t some = 1 + random() % found.count;
        for (std::size_t k = 0; k < some; ++k) {
          const std::byte* at = found.records + k * record_bytes(GetParam());
          const auto [place, fresh] =
              taken.emplace(found.time + static_cast<std::int64_t>(k),
                            std::vector<std::byte>(at, at + record_bytes(GetParam())));
          EXPECT_TRUE(fresh) << place->first << " comes twice";
        }
        parser.take(some);
        done += some * record_bytes(GetParam());
      } else if (found.skip == 0) {
        if (all) break;
        given += std::min(sent_.size() - given, 1 + random() % 5000);
      }
    }
    EXPECT_LT(sent_.size() - done, last ? 1 : RecordParser::kWindowBytes);
    sent_.clear();
  }
  void expect_taken_as_sent() const {
    for (const auto& [time, bytes] : taken) EXPECT_EQ(bytes, record(time)) << "time " << time;
  }

  std::mt19937_64 random = tests::generator();
  std::map<std::int64_t, std::vector<std::byte>> taken;
  std::vector<std::byte> sent_;
};

TEST_P(ParsedRecords, AreAllThereAcrossWraps) {
  const auto first = static_cast<std::int64_t>(random() % 200'000);
  for (std::int64_t time = first; time < first + 150'000; ++time) send(time);
  RecordParser parser(GetParam());
  parse(parser, first + static_cast<std::int64_t>(random() % 60'000) - 30'000);
  EXPECT_EQ(taken.size(), 150'000U);
  EXPECT_EQ(taken.begin()->first, first);
  expect_taken_as_sent();
  EXPECT_EQ(parser.counts().invalid_bytes, 0U);
  EXPECT_EQ(parser.counts().jumps, 0U);
}

// sent = taken + repeated + invalid, and each record taken stands at its time.
TEST_P(ParsedRecords, AreCountedThroughLossRepetitionAndBrokenCounters) {
  std::uint64_t sent = 0, broken = 0, repeated = 0;
  // Counters wrap at 65,536.
  const std::int64_t first = 65'000;
  const std::int64_t count = std::getenv("TAUTLINE_SMALL") != nullptr ? 20'000 : 100'000;
  // Of more, a window of 64 KiB may have no eight records in a row, and is passed over.
  for (const double loss : {0.0, 0.0001, 0.01, 0.1, 0.4}) {
    taken.clear();
    RecordParser parser(GetParam());
    std::bernoulli_distribution lost(loss), damaged(0.0005), again(0.001);
    sent = broken = repeated = 0;
    for (std::int64_t time = first; time < first + count; ++time) {
      const bool inside = time >= first + 100 && time < first + count - 100;
      if (inside && lost(random)) continue;
      send(time);
      ++sent;
      if (inside && damaged(random)) {
        sent_[sent_.size() - record_bytes(GetParam())] ^= std::byte{64};
        ++broken;
      } else if (inside && again(random)) {
        send(time);
        ++sent;
        ++repeated;
      }
    }
    parse(parser, first);
    std::size_t right = 0;
    for (const auto& [time, bytes] : taken) right += bytes == record(time) ? 1 : 0;
    const auto invalid = parser.counts().invalid_bytes / record_bytes(GetParam());
    EXPECT_EQ(parser.counts().invalid_bytes % record_bytes(GetParam()), 0U);
    EXPECT_EQ(sent, taken.size() + parser.counts().repeated + invalid) << "loss " << loss;
    // A broken counter may be one that was lost; others must stand where they belong.
    EXPECT_GE(right + broken, taken.size()) << "loss " << loss;
    EXPECT_LE(invalid, broken + repeated + sent / 10) << "loss " << loss;
    EXPECT_GE(parser.counts().repeated + invalid, repeated) << "loss " << loss;
  }
}

TEST_P(ParsedRecords, GoOnBehindBytesThatAreNone) {
  std::size_t noise = 0;
  std::int64_t time = 3;
  for (int part = 0; part < 4; ++part) {
    for (int k = 0; k < 1000; ++k) send(time++);
    const std::size_t count = random() % 200'000;
    for (std::size_t k = 0; k < count; ++k) sent_.push_back(static_cast<std::byte>(random()));
    noise += count;
  }
  for (int k = 0; k < 1000; ++k) send(time++);
  RecordParser parser(GetParam());
  parse(parser, 0);
  EXPECT_GE(taken.size(), 5000U - 4 * kUnalignedProof);
  EXPECT_GE(parser.counts().invalid_bytes + 8 * record_bytes(GetParam()), noise);
  EXPECT_EQ(parser.next_time(), time);
}

// Each sender begins in the middle of a clock that others know, and may end inside a record.
TEST_P(ParsedRecords, OfOneThatComesBackStandWhereItsClockIs) {
  RecordParser parser(GetParam());
  for (std::int64_t time = 1000; time < 3000; ++time) send(time);
  sent_.resize(sent_.size() - 5);
  parse(parser, 1000);
  EXPECT_EQ(parser.counts().invalid_bytes, record_bytes(GetParam()) - 5);
  const std::int64_t later = 1000 + 5 * 65536 + static_cast<std::int64_t>(random() % 65536);
  for (std::int64_t time = later; time < later + 2000; ++time) send(time);
  parser.restart();
  EXPECT_FALSE(parser.placed());
  parse(parser, later + static_cast<std::int64_t>(random() % 60'000) - 30'000);
  EXPECT_EQ(taken.size(), 1999U + 2000U);
  EXPECT_EQ(taken.rbegin()->first, later + 1999);
  expect_taken_as_sent();
}

// Bytes that prove nothing yet are waited for, and no more than a window of them.
TEST_P(ParsedRecords, AreWaitedForNoLongerThanNeeded) {
  RecordParser parser(GetParam());
  for (std::int64_t time = 0; time < 7; ++time) send(time);
  parse(parser, 0, false);
  EXPECT_FALSE(parser.placed());
  sent_.clear();
  for (std::int64_t time = 0; time < 8; ++time) send(time);
  parse(parser, 0, false);
  EXPECT_TRUE(parser.placed());
  EXPECT_EQ(taken.size(), 8U);
}

INSTANTIATE_TEST_SUITE_P(Modes, ParsedRecords, ::testing::Values(Mode::two_byte, Mode::one_byte),
                         [](const auto& info) {
                           return info.param == Mode::two_byte ? "TwoByte" : "OneByte";
                         });

}  // namespace
}  // namespace tautline::formats::mwa32t

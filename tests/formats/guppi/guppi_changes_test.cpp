// GUPPI RAW whose header changes inside the file: layout, frequency, rate or date make an error, other fields do not.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "tautline/core/error.h"
#include "tautline/formats/guppi/guppi.h"
#include "tests/formats/cut_feed.h"
#include "tests/formats/guppi/recording.h"
#include "tests/formats/in_order_check.h"
#include "tests/formats/voltage_check.h"
#include "tests/support/error_of.h"
#include "tests/support/seed.h"

namespace tautline::formats::guppi {
namespace {

struct Change {
  std::string keyword, found, expected;
};

class GuppiChanges : public testing::Test {
 protected:
  static constexpr std::size_t kTimes = 64;

  std::unique_ptr<VoltageReader> open_bytes(const std::vector<char>& bytes) {
    tests::write_bytes(path_, bytes);
    return open(InputFile(path_), {});
  }
  static void add(std::vector<char>& bytes, const std::vector<char>& more) {
    bytes.insert(bytes.end(), more.begin(), more.end());
  }
  void expect_refused(const std::vector<char>& bytes, std::size_t at, const Change& change,
                      std::size_t samples) {
    SCOPED_TRACE(change.keyword);
    const auto expect_said = [&](const std::string& what) {
      for (const std::string& words :
           {fmt::format("{} in the header at byte {}: {}, expected {}", change.keyword, at,
                        change.found, change.expected),
            fmt::format("split the file at byte {}", at)})
        EXPECT_NE(what.find(words), std::string::npos) << words << " in " << what;
    };
    const auto reader = open_bytes(bytes);
    expect_said(tests::error_of([&] { tests::read_all(*reader, 50); }).what());
    const auto piped = open(InputFile(tests::in_order(path_, bytes, random_)), {});
    expect_said(tests::error_of([&] { tests::read_all(*piped, 50); }).what());
    // Before reading: of what will be read.
    const auto other = open_bytes(bytes);
    expect_said(tests::error_of([&] { other->require_readable(0, bytes.size()); }).what());
    std::string foreseen;
    for (const std::string& message : other->foreseen_damage().messages) foreseen += message;
    expect_said(foreseen);
    other->require_readable(0, samples);
    core::RawBlock block;
    EXPECT_EQ(other->read(samples, block), samples);
    EXPECT_FALSE(other->damage().any());
  }

  tests::Folder folder_;
  std::string path_ = folder_ / "test.raw";
  std::mt19937_64 random_ = tests::generator();
};

TEST_F(GuppiChanges, OfFrequencyRateAndDateAreRefusedByName) {
  const std::vector<Change> changes{
      {"OBSFREQ", "1400.5", "1378.125"}, {"OBSBW", "12.5", "-12.5"},
      {"TBIN", "6.4e-07", "3.2e-07"},    {"STT_IMJD", "56001", "56000"},
      {"STT_SMJD", "4000", "3600"},      {"STT_OFFS", "0.5", "0.25"}};
  for (const Change& change : changes) {
    const std::size_t blocks = 5 + random_() % 200, changed = 1 + random_() % (blocks - 2);
    Recording recording({1, 4, 2, kTimes, 0, 8}, blocks, random_);
    std::vector<char> bytes;
    for (std::size_t k = 0; k < blocks; ++k) {
      if (k == changed) put_card(recording.cards(), change.keyword, change.found);
      add(bytes, recording.block_bytes(k));
    }
    const std::size_t at = bytes.size() / blocks * changed;
    expect_refused(bytes, at, change, changed * kTimes);
  }
}

TEST_F(GuppiChanges, OfTheLayoutAreRefusedByName) {
  const Shape before{1, 4, 2, kTimes, 0, 8};
  struct Case {
    Shape after;
    Change change;
  };
  const std::vector<Case> cases{{{1, 8, 2, kTimes, 0, 8}, {"OBSNCHAN", "8", "4"}},
                                {{1, 4, 1, kTimes, 0, 8}, {"NPOL", "1", "4"}},
                                {{1, 4, 2, kTimes, 0, 4}, {"NBITS", "4", "8"}},
                                {{2, 2, 2, kTimes, 0, 8}, {"NANTS", "2", "1"}},
                                {{1, 4, 2, 2 * kTimes, 0, 8}, {"BLOCSIZE", "2048", "1024"}}};
  for (const Case& one : cases) {
    const std::size_t blocks = 1 + random_() % 20, behind = 1 + random_() % 20;
    std::vector<char> bytes = Recording(before, blocks, random_).bytes();
    const std::size_t at = bytes.size();
    Recording other(one.after, behind, random_);
    other.first_packet = blocks * kTimes / 8;
    add(bytes, other.bytes());
    expect_refused(bytes, at, one.change, blocks * kTimes);
  }
}

TEST_F(GuppiChanges, APacketIndexThatBeginsAgainIsRefused) {
  const std::size_t blocks = 3 + random_() % 20;
  Recording recording({1, 4, 2, kTimes, 0, 8}, blocks, random_);
  recording.first_packet = 800 * (random_() % 2);
  std::vector<char> bytes = recording.bytes();
  const std::size_t at = bytes.size();
  add(bytes, recording.bytes());
  const auto reader = open_bytes(bytes);
  std::string foreseen;
  for (const std::string& message : reader->foreseen_damage().messages) foreseen += message;
  for (const std::string& what :
       {foreseen, std::string(tests::error_of([&] { tests::read_all(*reader, 50); }).what())}) {
    EXPECT_NE(what.find(fmt::format("PKTIDX in the header at byte {}: {}, expected {} or more", at,
                                    recording.first_packet,
                                    recording.first_packet + (blocks - 1) * kTimes / 8)),
              std::string::npos)
        << what;
    EXPECT_NE(what.find(fmt::format("split the file at byte {}", at)), std::string::npos) << what;
  }
}

// One header that differs alone is damaged.
TEST_F(GuppiChanges, OfASingleHeaderCostItsBlock) {
  for (const char* keyword : {"OBSFREQ", "TBIN", "STT_IMJD"}) {
    SCOPED_TRACE(keyword);
    const std::size_t blocks = 10, changed = 1 + random_() % 8;
    Recording recording({1, 4, 2, kTimes, 0, 8}, blocks, random_);
    const CardList cards = recording.cards();
    std::vector<char> bytes;
    for (std::size_t k = 0; k < blocks; ++k) {
      if (k == changed) put_card(recording.cards(), keyword, "1");
      add(bytes, recording.block_bytes(k));
      recording.cards() = cards;
    }
    const auto reader = open_bytes(bytes);
    reader->require_readable(0, reader->total_samples());
    recording.expect(tests::read_all(*reader, 100), {changed});
    EXPECT_EQ(reader->damage().dropped_samples, kTimes * 2);
    EXPECT_EQ(reader->damage().lost_samples, kTimes * 2);
  }
}

// Pointings, clocks and digits, and dates of every block's own.
TEST_F(GuppiChanges, OfOtherFieldsAreNone) {
  constexpr std::size_t kBlocks = 12;
  Recording recording({1, 4, 2, kTimes, 0, 8}, kBlocks, random_);
  CardList& cards = recording.cards();
  // A block takes 400 s.
  put_card(cards, "OBSBW", "6.4e-7");
  put_card(cards, "TBIN", "6.25");
  for (const char* keyword : {"RA", "DEC", "DUT1", "UTC"}) cards.emplace_back(keyword, "0.5");
  const bool own_dates = random_() % 2 == 0;
  std::vector<char> bytes;
  for (std::size_t k = 0; k < kBlocks; ++k) {
    for (const char* keyword : {"RA", "DEC", "DUT1"})
      put_card(cards, keyword, fmt::format("{}", static_cast<double>(random_() % 1'000) / 999));
    put_card(cards, "UTC", "'" + std::to_string(random_()) + "'");
    put_card(cards, "SRC_NAME", random_() % 2 == 0 ? "'B0329+54'" : "'B0329+54   '");
    put_card(cards, "OBSFREQ", random_() % 2 == 0 ? "1378.125" : "1378.12500000001");
    put_card(cards, "TBIN", random_() % 2 == 0 ? "6.25" : "6.2500000001");
    if (own_dates) put_card(cards, "STT_SMJD", std::to_string(3'600 + 400 * k));
    add(bytes, recording.block_bytes(k));
  }
  // The first header's digits may be longer than the others'.
  const auto reader = open_bytes(bytes);
  EXPECT_FALSE(reader->foreseen_damage().any());
  reader->require_readable(0, reader->total_samples());
  recording.expect(tests::read_all(*reader, 100));
  EXPECT_FALSE(reader->damage().any());
}

}  // namespace
}  // namespace tautline::formats::guppi

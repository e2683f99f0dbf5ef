// Ordinary bad days of time tags: what the command says of damaged recordings, and how it exits.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/end_to_end/bad_photons.h"
#include "tests/support/seed.h"

namespace tautline::tests {
namespace {

// A recording of half a second, and its records to be tampered with.
class BadTags : public BadPhotons, public ::testing::WithParamInterface<const char*> {
 protected:
  void SetUp() override {
    const CommandResult made = run({"simulate", "photons", "--duration", "0.3", "--tags",
                                    GetParam(), "--seed", std::to_string(generator()()), "--model",
                                    "diffusion:n=2,tau=2e-4,rate=2e4", "-o", scratch / "x.ptu"});
    ASSERT_EQ(made.status, kDone) << made.err;
    const std::string file = read_file(scratch / "x.ptu");
    const std::size_t end = file.find("Header_End") + 48;
    header_ = file.substr(0, end);
    records_.resize((file.size() - end) / 4);
    std::memcpy(records_.data(), file.data() + end, 4 * records_.size());
    // Two photons with no overflow between, less than half of one apart: a longer step back would
    // be a lost overflow's.
    const std::uint32_t overflow = std::string(GetParam()) == "t2" ? 33554432 : 1024;
    const auto step = [&](std::size_t at) {
      return (records_[at + 1] - records_[at]) & (overflow - 1);
    };
    while (special(photon_) || special(photon_ + 1) || step(photon_) == 0 ||
           step(photon_) >= overflow / 2)
      ++photon_;
    while (!special(overflow_)) ++overflow_;
  }
  bool special(std::size_t record) const { return records_[record] >> 31 != 0; }
  CommandResult correlate(const std::string& records, std::vector<std::string> more = {}) {
    write_file(scratch / "bad.ptu", header_ + records);
    more.insert(more.end(),
                {"--bin", "1e-6", "--lags", "standard", "--bins", "8", "--levels", "8"});
    return autocorrelate("bad.ptu", more);
  }
  std::string bytes() const {
    return {reinterpret_cast<const char*>(records_.data()), 4 * records_.size()};
  }

  std::string header_;
  std::vector<std::uint32_t> records_;
  std::size_t photon_ = 200, overflow_ = 1000;
};

TEST_P(BadTags, CountsThatAreTooNarrowNameTheOptions) {
  // Hundreds of photons in 30 ms.
  expect_said(autocorrelate("x.ptu", {"--bin", "3e-2"}), kFailed,
              "choose a shorter --bin or wider counts, --dtype u16");
  EXPECT_EQ(autocorrelate("x.ptu", {"--bin", "3e-2", "--dtype", "u16"}).status, kDone);
}

// However they are correlated, bins or one by one.
TEST_P(BadTags, SayWhatIsWrongAndGoOn) {
  for (const char* method : {"bins", "direct"}) {
    const std::vector<std::string> more{"--tags", method};
    EXPECT_EQ(correlate(bytes(), more).status, kDone);
    expect_said(correlate(bytes().substr(0, bytes().size() / 2 / 4 * 4 + 2), more), kDamaged,
                "cut short at byte");
    std::swap(records_[photon_], records_[photon_ + 1]);
    expect_said(correlate(bytes(), more), kDamaged, "the time tags go backwards");
    std::swap(records_[photon_], records_[photon_ + 1]);
    const std::uint32_t kept = records_[photon_];
    records_[photon_] = 0x80000000u | 40u << 25;
    expect_said(correlate(bytes(), more), kDamaged, "unknown record");
    EXPECT_EQ(correlate(bytes(), {"--tags", method, "--strict"}).status, kFailed);
    records_[photon_] = kept;
    std::vector<std::uint32_t> whole = records_;
    records_.erase(records_.begin() + static_cast<std::ptrdiff_t>(overflow_));
    expect_said(correlate(bytes(), more), kDamaged, "bad.ptu");
    records_ = whole;
  }
}

// Of both methods, the same curve; with shifted records none.
TEST_P(BadTags, RecordsThatWereLostAreNoPhotonsAndCutTheRun) {
  const std::string whole = bytes();
  for (const std::uint32_t value : {0u, 0xFFFFFFFFu}) {
    std::fill_n(records_.begin() + static_cast<std::ptrdiff_t>(records_.size() / 2), 300, value);
    std::string curves[2];
    for (const char* method : {"bins", "direct"}) {
      const CommandResult result = correlate(bytes(), {"--tags", method});
      expect_said(result, kDamaged, "records that were never written (all bits 0, or all 1)");
      expect_said(result, kDamaged, "300 that were never written in 1 place");
      EXPECT_LE(std::count(result.err.begin(), result.err.end(), '\n'), 5) << result.err;
      std::istringstream lines(read_file(scratch / "out.csv"));
      for (std::string line; std::getline(lines, line);)
        if (line.empty() || line[0] != '#') curves[method[0] == 'd'] += line + "\n";
      EXPECT_EQ(correlate(bytes(), {"--tags", method, "--strict"}).status, kFailed);
    }
    EXPECT_FALSE(curves[0].empty());
    EXPECT_EQ(curves[0], curves[1]);
    // inspect has no such options, and says whose they are.
    const CommandResult inspected = run({"inspect", scratch / "bad.ptu"});
    expect_said(inspected, kDamaged,
                "autocorrelate takes the part before with --start and --duration");
  }
  for (std::size_t shift = 1; shift < 4; ++shift) {
    std::filesystem::remove(scratch / "out.csv");
    expect_said(correlate(whole.substr(shift)), kFailed,
                "the records are shifted by some bytes, are of another type than the header says");
    EXPECT_FALSE(std::filesystem::exists(scratch / "out.csv"));
  }
}

// Records that were written over read as overflows, which set the clock far ahead.
TEST_P(BadTags, ClocksThatRunFarBeyondTheHeadersLengthAreDamage) {
  constexpr std::size_t kRecords = 1000;
  for (std::size_t k = 0; k < kRecords; ++k) records_[photon_ + k] = 0xFFFFFFFE;
  // So long a run of T2 has no bins to hold; the warning is of whoever reads all.
  write_file(scratch / "bad.ptu", header_ + bytes());
  const CommandResult seen = run({"inspect", scratch / "bad.ptu"});
  expect_said(seen, kDamaged, "expected the 0.3 s of the header");
  if (std::string(GetParam()) == "t2") return;
  for (const char* method : {"bins", "direct"})
    expect_said(correlate(bytes(), {"--tags", method}), kDamaged,
                "expected the 0.3 s of the header");
}

// Without the overflow between them the clock of the next photon is more than half its range below
// that of the one before.
TEST_P(BadTags, OverflowRecordsMissing) {
  const bool t2 = std::string(GetParam()) == "t2";
  const std::uint32_t wrap = t2 ? 33554432 : 1024;
  const auto clock = [&](std::size_t record) { return records_[record] & (wrap - 1); };
  std::size_t at = 1;
  while (at + 1 < records_.size() &&
         !(special(at) && clock(at) == 1 && !special(at - 1) && !special(at + 1) &&
           clock(at - 1) > clock(at + 1) && clock(at - 1) - clock(at + 1) > wrap / 2))
    ++at;
  ASSERT_LT(at + 1, records_.size()) << "no such overflow in the recording";
  const std::uint32_t step = clock(at - 1) - clock(at + 1);
  records_.erase(records_.begin() + static_cast<std::ptrdiff_t>(at));
  for (const char* method : {"bins", "direct"}) {
    const CommandResult result = correlate(bytes(), {"--tags", method});
    expect_said(result, kDamaged, "an overflow record is missing, record " + std::to_string(at));
    expect_said(result, kDamaged, "the clock steps back by " + std::to_string(step));
  }
}

TEST_P(BadTags, BinsShorterThanTheClockAndDetectorsThatAreNot) {
  write_file(scratch / "x2.ptu", header_ + bytes());
  const CommandResult result = autocorrelate("x2.ptu", {"--bin", "1e-13"});
  expect_said(result, kWrongUsage, std::string(GetParam()) == "t3" ? "sync period" : "tick");
  if (std::string(GetParam()) == "t2") {
    expect_said(autocorrelate("x2.ptu", {"--bin", "1e-6", "--gate", "1e-9:2e-9"}), kWrongUsage,
                "gate");
  } else {
    expect_said(autocorrelate("x2.ptu", {"--bin", "1e-6", "--gate", "0:12"}), kWrongUsage,
                "--gate: 0:12, which keeps every photon, expected a part of the microtimes, 0 to ");
    expect_said(autocorrelate("x2.ptu", {"--bin", "1e-6", "--gate=-1ns:20ns"}), kWrongUsage,
                "--gate: -1e-09:2e-08, expected microtimes from 0 to ");
    EXPECT_EQ(autocorrelate("x2.ptu", {"--bin", "1e-6", "--gate", "1ns:1us"}).status, kDone);
  }
  expect_said(autocorrelate("x2.ptu", {"--bin", "1e-6", "--detectors", "9"}), kWrongUsage,
              "--detectors: 9, expected detectors with photons in " + scratch / "x2.ptu" + ": 0");
  EXPECT_EQ(autocorrelate("x2.ptu", {"--bin", "1e-6", "--detectors", "0"}).status, kDone);
  // Half a second in one bin holds more than a byte; one by one there is no such limit.
  expect_said(autocorrelate("x2.ptu", {"--bin", "0.1", "--levels", "1", "--tags", "bins"}), kFailed,
              "more than 255");
  EXPECT_EQ(autocorrelate("x2.ptu", {"--bin", "0.1", "--levels", "1", "--tags", "direct"}).status,
            kDone);
  expect_said(autocorrelate("x2.ptu", {"--bin", "1e-6", "--coarsen", "first", "--tags", "direct"}),
              kWrongUsage, "--tags");
}

TEST_P(BadTags, DirectCurvesAreThoseOfBins) {
  std::string curves[2];
  for (const char* method : {"bins", "direct"}) {
    ASSERT_EQ(correlate(bytes(), {"--tags", method}).status, kDone);
    std::string text = read_file(scratch / "out.csv"), numbers;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);)
      if (line.empty() || line[0] != '#') numbers += line + "\n";
    curves[method[0] == 'd'] = numbers;
  }
  EXPECT_FALSE(curves[0].empty());
  EXPECT_EQ(curves[0], curves[1]);
}

INSTANTIATE_TEST_SUITE_P(Modes, BadTags, ::testing::Values("t2", "t3"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace tautline::tests

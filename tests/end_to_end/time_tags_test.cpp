// Time tags of two detectors through the command: pairs by the detectors' numbers, times with units, the bin that is
// chosen where none is given.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>
#include <utility>

#include "tautline/formats/curves/curves.h"
#include "tests/end_to_end/run_command.h"
#include "tests/formats/ptu/tag_file.h"
#include "tests/support/scratch.h"

namespace tautline::tests {
namespace {

constexpr std::uint32_t kHydraHarp2T2 = 0x01010204;

class TimeTags : public ::testing::Test {
 protected:
  // Photons of the detectors 1 and 4, at random; the clock's unit is 1 ns.
  void SetUp() override {
#ifndef TAUTLINE_HDF5
    GTEST_SKIP() << "a build without HDF5";
#endif
    auto random = generator();
    std::exponential_distribution<double> gap(1.0 / kMeanGap);
    std::vector<std::uint32_t>& words = words_;
    std::uint64_t time = 0, wraps = 0;
    for (std::size_t n = 0; n < kPhotons; ++n) {
      time += 1 + static_cast<std::uint64_t>(gap(random));
      for (; time >> 25 > wraps; ++wraps) words.push_back(0xFE000001);
      const std::uint32_t detector = random() % 3 == 0 ? 4 : 1;
      photons_[detector == 4] += 1;
      words.push_back(detector << 25 | static_cast<std::uint32_t>(time & 0x1FFFFFF));
    }
    ticks_ = time + 1;
    save(scratch_ / "x.ptu", tag_file(kHydraHarp2T2, words, 1e-9));
  }

  CommandResult autocorrelate(std::vector<std::string> more) {
    more.insert(more.begin(), {"--json", "autocorrelate", scratch_ / "x.ptu", "-o",
                               scratch_ / "g.h5", "--overwrite", "--levels", "4"});
    return run_command(more, scratch_.path().string());
  }
  core::CorrelationCurves curves(const std::vector<std::string>& more) {
    const CommandResult result = autocorrelate(more);
    EXPECT_EQ(result.status, kDone) << result.err;
    return formats::curves::read_hdf5(scratch_ / "g.h5");
  }

  static constexpr std::size_t kPhotons = 20'000;
  static constexpr double kMeanGap = 9'000;  // ns
  ScratchFolder scratch_;
  std::vector<std::uint32_t> words_;
  std::uint64_t ticks_ = 0, photons_[2] = {};
};

TEST_F(TimeTags, PairsAreOfDetectorsByTheirNumbers) {
  write_file(scratch_ / "pairs.txt", "1 4\n");
  const auto one = curves({"--bin", "10us", "--pairs", "1,4"});
  ASSERT_EQ(one.curves, 1u);
  EXPECT_TRUE(one.cross);
  EXPECT_EQ(one.first[0].label, "detector 1");
  EXPECT_EQ(one.second[0].label, "detector 4");
  EXPECT_EQ(one.bin_s, 1e-5);
  for (const std::string& same : {std::string("1x4"), scratch_ / "pairs.txt"}) {
    const auto other = curves({"--bin", "1e-5", "--pairs", same});
    EXPECT_EQ(other.sums, one.sums) << same;
  }
  const auto both = curves({"--bin", "0.01ms", "--pairs", "4x1,1x4,4x4"});
  ASSERT_EQ(both.curves, 3u);
  EXPECT_EQ(both.first[0].label, "detector 4");
  EXPECT_EQ(both.second[0].label, "detector 1");
  EXPECT_NE(both.sums, one.sums);
  // The CSV names both.
  const auto csv = scratch_ / "g.csv";
  ASSERT_EQ(run_command(
                {"autocorrelate", scratch_ / "x.ptu", "-o", csv, "--bin", "10us", "--pairs", "1x4"},
                scratch_.path().string())
                .status,
            kDone);
  const std::string text = read_file(csv);
  EXPECT_NE(text.find("# Type AC/CC\tCross-correlation"), std::string::npos);
  EXPECT_NE(text.find("detector 1 x detector 4"), std::string::npos) << text.substr(0, 400);
  for (const std::string wrong : {"0,1", "1x2", "1x", "1,4,4"}) {
    const CommandResult refused = autocorrelate({"--bin", "10us", "--pairs", wrong});
    EXPECT_EQ(refused.status, kWrongUsage) << wrong;
    EXPECT_NE(refused.err.find("--pairs: " + wrong), std::string::npos) << refused.err;
  }
  EXPECT_NE(autocorrelate({"--bin", "10us", "--pairs", "0,1"}).err.find("detectors 1, 4"),
            std::string::npos);
}

// An overflow every 33.6 ms, in which 3,700 photons would be expected, and a marker.
TEST_F(TimeTags, PhotonsThatEndBeforeTheClockDoesAreSaid) {
  EXPECT_EQ(autocorrelate({"--bin", "10us"}).err.find("the last photon"), std::string::npos);
  auto silent = words_;
  silent.insert(silent.end(), 10, 0xFE000001);
  silent.push_back(0x82000000u | 5);
  save(scratch_ / "x.ptu", tag_file(kHydraHarp2T2, silent, 1e-9));
  const CommandResult result = autocorrelate({"--bin", "10us"});
  EXPECT_EQ(result.status, kDone) << result.err;
  char words[100];
  std::snprintf(words, sizeof words, "x.ptu: the last photon came at %.6g s and the clock ran to",
                1e-9 * static_cast<double>(ticks_));
  EXPECT_NE(result.err.find(words), std::string::npos) << result.err;
  const std::string file = scratch_ / "x.ptu";
  const CommandResult piped =
      run_shell("cat '" + file + "' | " +
                    command_line({"autocorrelate", "-", "--bin", "10us", "--detectors", "1,4", "-o",
                                  scratch_ / "piped.zip"}),
                scratch_.path().string());
  EXPECT_NE(piped.err.find(words + std::strlen("x.ptu")), std::string::npos) << piped.err;
}

// A tenth of the time between two photons of the brightest detector, rounded down to 1, 2 or 5.
TEST_F(TimeTags, ABinIsChosenAndSaid) {
  const CommandResult result = autocorrelate({});
  ASSERT_EQ(result.status, kDone) << result.err;
  const auto said = nlohmann::json::parse(result.out);
  const double between_s =
      1e-9 * static_cast<double>(ticks_) / static_cast<double>(std::max(photons_[0], photons_[1]));
  const double bin_s = said["bin_s"];
  EXPECT_LE(bin_s, between_s / 10);
  EXPECT_GT(bin_s, between_s / 10 / 2.5);
  EXPECT_NEAR(bin_s, 1e-6, 1e-12);  // of 9 us over two thirds, 1.35 us
  const std::string reason = said["bin_chosen"];
  EXPECT_NE(reason.find("between two photons"), std::string::npos) << reason;
  formats::curves::CurvesFacts facts;
  const auto c = formats::curves::read_hdf5(scratch_ / "g.h5", &facts);
  EXPECT_EQ(c.bin_s, bin_s);
  EXPECT_EQ(facts.extra.at("bin_chosen"), reason);
  // As if it had been given.
  EXPECT_EQ(curves({"--bin", "1us"}).sums, c.sums);
  EXPECT_EQ(nlohmann::json::parse(autocorrelate({"--bin", "1us"}).out)["bin_chosen"], "");
}

// Light so bright that a photon comes within ten units of the clock, or little later.
TEST_F(TimeTags, OfBrightLightABinIsOneUnitOfTheClock) {
  auto random = generator();
  // Between photons: 4.5 and 14.5 units on average, less than ten and a tenth that is more than one.
  for (const auto& [shortest, unit_s] : {std::pair<std::uint64_t, double>{1, 1e-9}, {11, 8e-9}}) {
    std::vector<std::uint32_t> words;
    std::uint64_t time = 0;
    for (std::size_t n = 0; n < kPhotons; ++n) {
      time += shortest + random() % 8;
      words.push_back(1u << 25 | static_cast<std::uint32_t>(time));
    }
    ASSERT_LT(time, 1u << 25);
    save(scratch_ / "x.ptu", tag_file(kHydraHarp2T2, words, unit_s));
    const CommandResult result = autocorrelate({});
    ASSERT_EQ(result.status, kDone) << result.err;
    const auto said = nlohmann::json::parse(result.out);
    EXPECT_NEAR(said["bin_s"].get<double>(), unit_s, 1e-9 * unit_s);
    const std::string reason = said["bin_chosen"];
    EXPECT_EQ(reason.find("one unit of the clock, 1e-09 s: photons come faster than ten of them") !=
                  std::string::npos,
              shortest == 1)
        << reason;
    const auto c = formats::curves::read_hdf5(scratch_ / "g.h5");
    EXPECT_EQ(c.totals[0], static_cast<std::int64_t>(kPhotons));
    EXPECT_EQ(c.samples, time + 1);
    EXPECT_EQ(curves({"--bin", shortest == 1 ? "1ns" : "8ns"}).sums, c.sums);
  }
}

TEST_F(TimeTags, BinsLongerThanTheRunAreRefused) {
  const CommandResult refused = autocorrelate({"--bin", "10s"});
  EXPECT_EQ(refused.status, kWrongUsage);
  EXPECT_NE(refused.err.find("--bin: 10 s, expected at most 0.1"), std::string::npos)
      << refused.err;
  EXPECT_FALSE(std::filesystem::exists(scratch_ / "g.h5"));
}

// Photons by microtime: every photon once, most of them soon after the pulse, whole columns where a gate would cut.
TEST(Microtimes, AreAHistogram) {
  const ScratchFolder scratch;
  const auto run = [&](const std::vector<std::string>& words) {
    return run_command(words, scratch.path().string());
  };
  for (const std::string mode : {"t3", "t2"}) {
    std::vector<std::string> words{"simulate",   "photons",
                                   "--sensors",  "2",
                                   "--duration", "200ms",
                                   "--tags",     mode,
                                   "--model",    "diffusion:n=1,tau=100us,rate=5e4",
                                   "-o",         scratch / (mode + ".ptu")};
    if (mode == "t3") words.insert(words.end(), {"--lifetime", "3ns"});
    ASSERT_EQ(run(words).status, kDone);
  }
  const CommandResult said =
      run({"--json", "inspect", scratch / "t3.ptu", "--tcspc", scratch / "h.csv"});
  ASSERT_EQ(said.status, kDone) << said.err;
  const auto record = nlohmann::json::parse(said.out);
  std::istringstream lines(read_file(scratch / "h.csv"));
  std::string line;
  std::getline(lines, line);
  EXPECT_TRUE(line.starts_with("# ")) << line;
  std::getline(lines, line);
  std::getline(lines, line);
  EXPECT_EQ(line, "time_s,detector_0,detector_1");
  std::uint64_t photons[2] = {}, early = 0;
  const double unit_s = record["microtime_unit_s"];
  for (std::size_t row = 0; std::getline(lines, line); ++row) {
    double time_s = 0;
    unsigned long counts[2] = {};
    ASSERT_EQ(std::sscanf(line.c_str(), "%lf,%lu,%lu", &time_s, &counts[0], &counts[1]), 3) << line;
    EXPECT_NEAR(time_s, static_cast<double>(row) * unit_s, 1e-8 * time_s);
    for (const int k : {0, 1}) photons[k] += counts[k];
    if (time_s < 3e-9) early += counts[0] + counts[1];
  }
  for (const auto& detector : record["detectors"])
    EXPECT_EQ(detector["photons"], photons[detector["detector"].get<std::size_t>()]);
  // 1 - 1/e of the fluorescence within its lifetime.
  EXPECT_NEAR(static_cast<double>(early) / static_cast<double>(photons[0] + photons[1]), 0.632,
              0.05);
  EXPECT_EQ(run({"inspect", scratch / "t3.ptu", "--tcspc", scratch / "h.csv"}).status, kFailed);
  const CommandResult none = run({"inspect", scratch / "t2.ptu", "--tcspc", scratch / "h2.csv"});
  EXPECT_EQ(none.status, kWrongUsage);
  EXPECT_NE(none.err.find("--tcspc"), std::string::npos) << none.err;
  write_file(scratch / "x.csv", "1e-6\t0.5\n");
  EXPECT_EQ(run({"inspect", scratch / "x.csv", "--tcspc", scratch / "h3.csv"}).status, kWrongUsage);
}

// The header says that there are two inputs. Two damaged tags, of which one has a number that an input may have, and
// some that are too many for it.
TEST_F(TimeTags, DetectorsOfDamagedTagsAreNamedOrLeftOut) {
  std::vector<std::uint32_t> words;
  std::uint32_t time = 0;
  const auto put = [&](std::uint32_t detector) { words.push_back(detector << 25 | ++time); };
  auto random = generator();
  for (int n = 0; n < 250'000; ++n) put(static_cast<std::uint32_t>(random() % 2));
  for (const std::uint32_t detector : {2U, 37U}) {
    const std::size_t at = detector * 1000 + random() % 1000;
    words[at] = detector << 25 | (words[at] & 0x1FFFFFF);
  }
  save(scratch_ / "x.ptu", tag_file(kHydraHarp2T2, words, 1e-9));
  const CommandResult result = autocorrelate({"--bin", "100ns"});
  EXPECT_NE(result.err.find("x.ptu: detector 2 (1 photon) of 250000: damaged tags make such "
                            "detectors; left out; --detectors, or pairs that name them, take them"),
            std::string::npos)
      << result.err;
  EXPECT_NE(result.err.find("x.ptu: detector 37 (1 photon) of 250000: damaged tags make such "
                            "detectors; left out, since the header says that there are 2"),
            std::string::npos)
      << result.err;
  const auto said = nlohmann::json::parse(result.out);
  EXPECT_EQ(said["sensors"], 2);
  EXPECT_EQ(said["ignored_photons"], 2);
  const CommandResult chosen = autocorrelate({"--bin", "100ns", "--detectors", "0,1"});
  EXPECT_EQ(chosen.err.find("damaged tags"), std::string::npos) << chosen.err;
  const CommandResult paired = autocorrelate({"--bin", "100ns", "--pairs", "0x2,0x1"});
  EXPECT_EQ(nlohmann::json::parse(paired.out)["curves"], 2) << paired.err;
  const CommandResult named = autocorrelate({"--bin", "100ns", "--detectors", "0,2"});
  EXPECT_EQ(nlohmann::json::parse(named.out)["sensors"], 2) << named.err;
}

}  // namespace
}  // namespace tautline::tests

// Recorded photons through the command: pairs, gates, histograms of microtimes and fits beside plain loops over the
// files' records, which are decoded here apart from the readers under test, and a stop cut out of a recording.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tautline/formats/curves/curves.h"
#include "tests/end_to_end/run_command.h"
#include "tests/formats/ptu/recorded_tags.h"
#include "tests/support/scratch.h"
#include "tests/support/seed.h"

namespace tautline::tests {
namespace {

const std::filesystem::path kFolder = std::filesystem::path(TAUTLINE_DATA_DIR) / "fcs";

struct Tag {
  std::uint64_t period = 0;  // of the laser, since the beginning
  std::uint32_t detector = 0, microtime = 0;
};

// HydraHarp v2 in T3 mode, as PicoQuant describes it: special, channel (6 bits), microtime (15), period (10).
std::vector<Tag> hydraharp_tags(const std::string& bytes) {
  std::vector<Tag> tags;
  std::uint64_t wraps = 0;
  for (const std::uint32_t word : words_from(bytes, bytes.find("Header_End") + 48)) {
    const std::uint32_t channel = word >> 25 & 63, period = word & 1023;
    if (word >> 31 == 0)
      tags.push_back({1024 * wraps + period, channel, word >> 10 & 0x7FFF});
    else if (channel == 63)
      wraps += std::max<std::uint32_t>(1, period);
  }
  return tags;
}

class RecordedPhotons : public ::testing::Test {
 protected:
  void SetUp() override {
#ifndef TAUTLINE_HDF5
    GTEST_SKIP() << "a build without HDF5";
#endif
    if (!std::filesystem::exists(kFolder))
      GTEST_SKIP() << "the recorded photons are absent (" << kFolder << ")";
  }
  CommandResult run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"--json", "--device", "cpu"});
    return run_command(arguments, scratch_.path().string());
  }
  nlohmann::json done(const std::vector<std::string>& arguments) {
    const CommandResult result = run(arguments);
    EXPECT_EQ(result.status, kDone) << result.err;
    const auto json = nlohmann::json::parse(result.out, nullptr, false);
    return json.is_object() ? json : nlohmann::json::object();
  }
  core::CorrelationCurves curves(const std::string& file, std::vector<std::string> more) {
    more.insert(more.begin(), {"autocorrelate", file, "-o", scratch_ / "g.h5", "--overwrite"});
    record_ = done(more);
    return formats::curves::read_hdf5(scratch_ / "g.h5");
  }
  // Without --bin: the largest of 1, 2 and 5 times a power of ten that is no longer than a tenth of `between_s`, in
  // whole units of the clock, and the curves that it gives.
  void expect_chosen_bin(const std::string& file, double between_s) {
    const double power = std::pow(10, std::floor(std::log10(between_s / 10)));
    const double leading = between_s / 10 / power, expected_s = (leading >= 5   ? 5
                                                                 : leading >= 2 ? 2
                                                                                : 1) *
                                                                power;
    const auto chosen = curves(file, {"--levels", "4"});
    EXPECT_NEAR(chosen.bin_s, expected_s, 0.01 * expected_s);
    EXPECT_NE(record_["bin_chosen"].get<std::string>().find("between two photons"),
              std::string::npos)
        << record_;
    std::ostringstream text;
    text << expected_s;
    const auto given = curves(file, {"--levels", "4", "--bin", text.str()});
    EXPECT_EQ(record_["bin_chosen"], "");
    EXPECT_EQ(given.bin_s, chosen.bin_s);
    EXPECT_EQ(given.sums, chosen.sums);
  }
  ScratchFolder scratch_;
  nlohmann::json record_;
};

// Two detectors, 200 ns between pulses.
class RecordedPair : public RecordedPhotons {
 protected:
  void SetUp() override {
    RecordedPhotons::SetUp();
    if (IsSkipped()) return;
    tags_ = hydraharp_tags(read_file(file_));
    ASSERT_EQ(tags_.size(), 77'883u);
  }
  // Photons of a detector in bins, of those tags that are wanted.
  std::vector<std::int64_t> counts(
      std::uint32_t detector, std::uint64_t periods, std::uint64_t bins,
      const std::function<bool(const Tag&)>& wanted = [](const Tag&) { return true; }) const {
    std::vector<std::int64_t> found(bins);
    for (const Tag& tag : tags_)
      if (tag.detector == detector && wanted(tag) && tag.period / periods < bins)
        ++found[tag.period / periods];
    return found;
  }
  // The sum, and g, of a and the later b at a lag of whole bins.
  static void expect_lag(const core::CorrelationCurves& c, std::size_t curve, std::size_t lag,
                         const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b) {
    ASSERT_EQ(c.lag_samples[lag], lag);
    std::int64_t sum = 0;
    double before = 0, after = 0;
    for (std::size_t t = lag; t < b.size(); ++t) {
      sum += b[t] * a[t - lag];
      before += static_cast<double>(a[t - lag]);
      after += static_cast<double>(b[t]);
    }
    const std::size_t at = curve * c.lags + lag;
    EXPECT_EQ(c.sums[at], sum) << "lag " << lag;
    const auto pairs = static_cast<double>(b.size() - lag);
    EXPECT_NEAR(c.g[at], pairs * static_cast<double>(sum) / (before * after) - 1, 1e-9)
        << "lag " << lag;
  }
  const std::string file_ = (kFolder / "v20_t3.ptu").string();
  std::vector<Tag> tags_;
};

TEST_F(RecordedPair, PairsAreThoseOfAPlainLoop) {
  const auto both = curves(file_, {"--bin", "1ms", "--pairs", "0x1,1x0,0x0"});
  ASSERT_EQ(both.curves, 3u);
  EXPECT_EQ(both.first[0].label, "detector 0");
  EXPECT_EQ(both.second[0].label, "detector 1");
  const auto periods = static_cast<std::uint64_t>(std::llround(both.bin_s * 4'999'960));
  EXPECT_EQ(periods, 5000u);
  const auto zero = counts(0, periods, both.samples), one = counts(1, periods, both.samples);
  EXPECT_NEAR(static_cast<double>(both.samples), 1e4, 2);
  for (std::size_t lag = 0; lag < 32; ++lag) {
    expect_lag(both, 0, lag, zero, one);
    expect_lag(both, 1, lag, one, zero);
    expect_lag(both, 2, lag, zero, zero);
  }
  EXPECT_TRUE(record_["empty_stretches"].empty());
}

// A tenth of the time between two photons of the brighter detector.
TEST_F(RecordedPair, ABinIsChosen) {
  const std::size_t zero =
      std::count_if(tags_.begin(), tags_.end(), [](const Tag& tag) { return tag.detector == 0; });
  const auto brighter = static_cast<double>(std::max(zero, tags_.size() - zero));
  expect_chosen_bin(file_, static_cast<double>(tags_.back().period) / 4'999'960 / brighter);
}

#ifdef TAUTLINE_FIT
// Both detectors see the same sample, which is scanned through the focus (g rises again behind 5 ms): one time of
// passing, from both curves.
TEST_F(RecordedPair, DetectorsShareATimeOfPassing) {
  curves(file_, {"--bin", "20us", "--lags", "standard", "--bins", "16", "--levels", "12"});
  struct Row {
    double n = 0, tau_v_s = 0;
  };
  const auto rows = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words{
        "fit",     scratch_ / "g.h5", "-o",      scratch_ / "fit.csv", "--overwrite", "--model",
        "3d-flow", "--range",         "20us:2ms"};
    words.insert(words.end(), more.begin(), more.end());
    const auto fitted = done(words);
    EXPECT_EQ(fitted["good"], 2) << fitted;
    std::vector<Row> found;
    std::istringstream lines(read_file(scratch_ / "fit.csv"));
    for (std::string line; std::getline(lines, line);) {
      Row row;
      if (std::sscanf(line.c_str(), "%*d,detector %*d,%*d,%*d,ok,%lf,%*f,%*f,%*f,%lf", &row.n,
                      &row.tau_v_s) == 2)
        found.push_back(row);
    }
    return found;
  };
  const auto own = rows({}), shared = rows({"--share", "tau_v_s"});
  ASSERT_EQ(own.size(), 2u);
  ASSERT_EQ(shared.size(), 2u);
  EXPECT_NE(own[0].tau_v_s, own[1].tau_v_s);
  EXPECT_EQ(shared[0].tau_v_s, shared[1].tau_v_s);
  EXPECT_GT(shared[0].tau_v_s, std::min(own[0].tau_v_s, own[1].tau_v_s));
  EXPECT_LT(shared[0].tau_v_s, std::max(own[0].tau_v_s, own[1].tau_v_s));
  EXPECT_NEAR(shared[0].tau_v_s, 1.4e-3, 0.2e-3);
  for (const std::size_t k : {0, 1}) {
    EXPECT_NEAR(shared[k].n / own[k].n, 1, 0.05) << k;
    EXPECT_NEAR(shared[k].n, 1, 0.2) << k;
  }
}
#endif

// A gate keeps whole units of the microtime from its lower edge to below its upper edge.
TEST_F(RecordedPair, AGateKeepsThePhotonsInIt) {
  const double unit_s = done({"inspect", file_})["microtime_unit_s"];
  EXPECT_NEAR(unit_s, 200.0016e-9 / 3125, 1e-12);
  auto random = generator();
  const std::uint32_t low = 50 + static_cast<std::uint32_t>(random() % 300),
                      high = low + 200 + static_cast<std::uint32_t>(random() % 1000);
  std::ostringstream gate;
  gate.precision(17);
  gate << low * unit_s << ":" << high * unit_s;
  const auto gated = curves(file_, {"--bin", "1ms", "--gate", gate.str()});
  ASSERT_EQ(gated.curves, 2u);
  const auto inside = [&](const Tag& tag) { return tag.microtime >= low && tag.microtime < high; };
  for (std::uint32_t detector = 0; detector < 2; ++detector) {
    const auto kept = counts(detector, 5000, gated.samples, inside);
    std::int64_t total = 0;
    for (const std::int64_t count : kept) total += count;
    EXPECT_EQ(gated.totals[2 * detector], total) << gate.str();
    for (std::size_t lag = 0; lag < 32; ++lag) expect_lag(gated, detector, lag, kept, kept);
  }
}

// Light comes after the pulse and decays: the same fluorescence on both detectors.
TEST_F(RecordedPair, TheHistogramOfMicrotimesIsThatOfTheRecords) {
  const auto held = done({"inspect", file_, "--tcspc", scratch_ / "h.csv"});
  std::vector<std::vector<std::uint64_t>> expected(2, std::vector<std::uint64_t>(1 << 15));
  for (const Tag& tag : tags_) ++expected.at(tag.detector)[tag.microtime];
  std::istringstream lines(read_file(scratch_ / "h.csv"));
  std::size_t row = 0;
  std::vector<std::vector<std::uint64_t>> found(2);
  for (std::string line; std::getline(lines, line);) {
    double time_s = 0;
    unsigned long zero = 0, one = 0;
    if (std::sscanf(line.c_str(), "%lf,%lu,%lu", &time_s, &zero, &one) != 3) continue;
    EXPECT_NEAR(time_s, static_cast<double>(row++) * held["microtime_unit_s"].get<double>(), 1e-14);
    found[0].push_back(zero);
    found[1].push_back(one);
  }
  double decay[2] = {};
  for (const std::size_t detector : {0, 1}) {
    ASSERT_GE(found[detector].size(), 3125u);
    found[detector].resize(1 << 15);
    EXPECT_EQ(found[detector], expected[detector]);
    // Of 5 to 10 ns and 50 to 55 ns.
    double early = 0, late = 0;
    for (std::size_t k = 0; k < 78; ++k) {
      early += static_cast<double>(found[detector][78 + k]);
      late += static_cast<double>(found[detector][781 + k]);
    }
    decay[detector] = early / late;
    EXPECT_GT(decay[detector], 3);
  }
  EXPECT_NEAR(decay[0] / decay[1], 1, 0.15);
}

// One detector, whose light comes from molecules in a focus.
class RecordedFocus : public RecordedPhotons {
 protected:
  const std::string file_ = (kFolder / "Point_1.pt3").string();
};

TEST_F(RecordedFocus, ABinIsChosen) {
  expect_chosen_bin(file_, 30.0 / 191'790);
}

#ifdef TAUTLINE_FIT
TEST_F(RecordedFocus, AFitHasTheAmplitudeOfItsCurve) {
  const auto c =
      curves(file_, {"--bin", "10us", "--lags", "standard", "--bins", "16", "--levels", "12"});
  ASSERT_EQ(c.curves, 1u);
  EXPECT_EQ(c.first[0].label, "detector 1");
  EXPECT_NEAR(c.first[0].mean_rate_hz, 191'790 / 30.0, 10);
  // Molecules that come and go: g falls from the shortest lags to none.
  const auto mean_between = [&](double from_s, double to_s) {
    double sum = 0, count = 0;
    for (std::size_t l = 0; l < c.lags; ++l)
      if (c.lag_s[l] >= from_s && c.lag_s[l] < to_s) {
        sum += c.g[l];
        count += 1;
      }
    return sum / count;
  };
  const double amplitude = mean_between(1.5e-5, 4.5e-5);
  EXPECT_GT(amplitude, 0.05);
  EXPECT_LT(std::fabs(mean_between(0.05, 0.3)), 0.2 * amplitude);
  const auto fitted = done({"fit", scratch_ / "g.h5", "-o", scratch_ / "fit.csv", "--model", "3d",
                            "--range", "10us:100ms", "--max-chi2", "10"});
  EXPECT_EQ(fitted["good"], 1) << fitted;
  const double n = fitted["medians"]["n"], tau_s = fitted["medians"]["tau_d_s"];
  EXPECT_NEAR(1 / n, amplitude, 0.3 * amplitude);
  EXPECT_GT(tau_s, 2e-5);
  EXPECT_LT(tau_s, 2e-2);
  // Half of the amplitude is left about where the fit says.
  EXPECT_GT(mean_between(tau_s / 4, tau_s / 2), 0.5 * amplitude);
  EXPECT_LT(mean_between(2 * tau_s, 4 * tau_s), 0.5 * amplitude);
}
#endif

// The photons of some seconds are cut out, as if a shutter had closed.
TEST_F(RecordedFocus, AStopThatIsCutIntoItIsLeftOut) {
  const std::string bytes = read_file(file_);
  ASSERT_EQ(number_at<std::int32_t>(bytes, 724), 0) << "an image's header comes before the records";
  auto random = generator();
  const double first_s = 4 + static_cast<double>(random() % 10'000) * 1e-3,
               length_s = 6 + static_cast<double>(random() % 4'000) * 1e-3;
  const CutPt3 cut = cut_pt3(bytes, first_s, length_s);
  write_file(scratch_ / "cut.pt3", cut.bytes);
  const std::vector<std::string> lags{"--bin",  "100us", "--lags",   "standard",
                                      "--bins", "16",    "--levels", "8"};
  const auto with = [&](const std::string& option) {
    std::vector<std::string> more = lags;
    more.push_back(option);
    return more;
  };
  const auto whole = curves(file_, lags);
  EXPECT_TRUE(record_["empty_stretches"].empty()) << record_["empty_stretches"];
  const auto kept = curves(scratch_ / "cut.pt3", with("--keep-constant"));
  EXPECT_TRUE(record_["empty_stretches"].empty());
  const auto left = curves(scratch_ / "cut.pt3", lags);
  ASSERT_EQ(record_["empty_stretches"].size(), 1u) << record_;
  const auto& stop = record_["empty_stretches"][0];
  EXPECT_EQ(stop["left_out"], true);
  EXPECT_NEAR(stop["first_sample"].get<double>() * left.bin_s, first_s, 0.05);
  EXPECT_NEAR(stop["samples"].get<double>() * left.bin_s, length_s, 0.1);
  EXPECT_EQ(left.samples + stop["samples"].get<std::uint64_t>(), kept.samples);
  // No photon is lost with it.
  EXPECT_EQ(left.totals[0], whole.totals[0] - cut.removed);
  EXPECT_EQ(left.totals[0], kept.totals[0]);
  // Taken for data, the stop raises g everywhere; left out, it changes g as little as less light does.
  const double dark = stop["samples"].get<double>() / static_cast<double>(kept.samples);
  double changed = 0, lags_seen = 0;
  for (std::size_t l = 1; l < whole.lags && whole.lag_s[l] < 0.1; ++l) {
    EXPECT_NEAR((1 + kept.g[l]) * (1 - dark) / (1 + left.g[l]), 1, 0.02) << whole.lag_s[l];
    changed += left.g[l] - whole.g[l];
    lags_seen += 1;
  }
  ASSERT_GT(lags_seen, 50);
  EXPECT_LT(std::fabs(changed / lags_seen), 0.2 * dark);
}

}  // namespace
}  // namespace tautline::tests

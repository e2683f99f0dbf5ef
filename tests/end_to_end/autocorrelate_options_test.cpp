// Options of `tautline autocorrelate`, each through the command to what it must change in the file.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <regex>
#include <set>

#include "tautline/formats/curves/curves.h"
#include "tautline/formats/npy/npy.h"
#include "tautline/formats/photon_reader.h"
#include "tests/end_to_end/run_command.h"
#include "tests/support/scratch.h"

namespace tautline::tests {
namespace {

using Series = std::vector<std::int64_t>;

constexpr std::size_t kRows = 4, kColumns = 6, kSmallSensors = kRows * kColumns, kSamples = 600;
constexpr std::size_t kBins = 8;  // of the standard lags: 0 to 8, then 10, 12, 14, 16

std::int64_t sum_at(const Series& a, const Series& b, std::size_t lag) {
  std::int64_t sum = 0;
  for (std::size_t t = 0; t + lag < a.size(); ++t) sum += a[t] * b[t + lag];
  return sum;
}

class AutocorrelateOptions : public ::testing::Test {
 protected:
  void SetUp() override {
#ifndef TAUTLINE_HDF5
    GTEST_SKIP() << "a build without HDF5";
#endif
    auto random = generator();
    counts_.resize(kSmallSensors * kSamples);
    for (auto& count : counts_) count = static_cast<std::uint8_t>(random() % 60);
    formats::npy::ArrayWriter writer(scratch_ / "x.npy", "|u1", {kSamples, kSmallSensors}, true);
    writer.write(std::as_bytes(std::span(counts_)));
    writer.finish();
  }

  core::CorrelationCurves curves(const std::string& input, std::vector<std::string> more) {
    more.insert(more.begin(), {"autocorrelate", scratch_ / input, "-o", scratch_ / "g.h5",
                               "--overwrite", "--lags", "standard", "--bins", std::to_string(kBins),
                               "--levels", "2", "--segments", "1"});
    const CommandResult result = run_command(more, scratch_.path().string());
    EXPECT_EQ(result.status, 0) << result.err;
    return formats::curves::read_hdf5(scratch_ / "g.h5");
  }
  core::CorrelationCurves curves(std::vector<std::string> more) {
    more.insert(more.begin(), {"--bin", "1e-6"});
    return curves("x.npy", more);
  }
  Series sensor(std::size_t s) const {
    Series series;
    for (std::size_t t = 0; t < kSamples; ++t) series.push_back(counts_[t * kSmallSensors + s]);
    return series;
  }
  /// Lags 0 to kBins of one curve.
  static void expect_sums(const core::CorrelationCurves& c, std::size_t curve, const Series& a,
                          const Series& b, const std::string& where) {
    for (std::size_t l = 0; l <= kBins; ++l)
      EXPECT_EQ(c.sums[curve * c.lags + l], sum_at(a, b, l)) << where << ", lag " << l;
  }

  ScratchFolder scratch_;
  std::vector<std::uint8_t> counts_;
};

TEST_F(AutocorrelateOptions, LimitsAndNumbersReadWell) {
  const auto run = [&](const std::string& bin) {
    return run_command({"autocorrelate", scratch_ / "one.u8", "-o", scratch_ / "one.csv", "--dtype",
                        "u8", "--sensors", "1", "--levels", "1", "--bin", bin},
                       scratch_.path().string());
  };
  write_file(scratch_ / "one.u8", std::string(500, '\1') + std::string(500, '\2'));
  for (const char* bin : {"-1", "0", "nan", "x"}) {
    const CommandResult refused = run(bin);
    EXPECT_EQ(refused.status, 2) << refused.err;
    EXPECT_NE(refused.err.find("--bin: " + std::string(bin) + ", expected "), std::string::npos)
        << refused.err;
    EXPECT_NE(refused.err.find("above 0, at most 3600 s; tautline autocorrelate --help"),
              std::string::npos)
        << refused.err;
  }
  const CommandResult done = run("1e-5");
  EXPECT_EQ(done.status, 0) << done.err;
  EXPECT_NE(done.out.find(": 1 curve of 32 lags (CSVs leave out lag 0), 1 sensor, "),
            std::string::npos)
      << done.out;
}

// Nothing to correlate is no error: g is undefined, which is said, and every output can be opened.
TEST_F(AutocorrelateOptions, EmptyAndDarkInput) {
  write_file(scratch_ / "empty.u8", "");
  write_file(scratch_ / "dark.u8", std::string(4000, '\0'));
  std::string one_dark;
  for (int t = 0; t < 2000; ++t) one_dark += {static_cast<char>(1 + t % 7), '\0'};
  write_file(scratch_ / "one_dark.u8", one_dark);
  const auto correlate = [&](const std::string& input, const std::string& output,
                             const std::string& sensors) {
    const CommandResult result =
        run_command({"autocorrelate", scratch_ / input, "-o", scratch_ / output, "--dtype", "u8",
                     "--sensors", sensors, "--levels", "4", "--bin", "1e-6"},
                    scratch_.path().string());
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_NE(result.err.find("undefined (NaN)"), std::string::npos) << result.err;
  };
  for (const std::string input : {"empty", "dark"})
    for (const char* ending : {".csv", ".h5"}) {
      const std::string output = input + ending;
      correlate(input + ".u8", output, "1");
      const CommandResult seen =
          run_command({"inspect", scratch_ / output}, scratch_.path().string());
      EXPECT_EQ(seen.status, 0) << seen.err;
      EXPECT_NE(seen.out.find("g undefined at every lag"), std::string::npos) << seen.out;
      const auto curves = formats::curves::read_set(scratch_ / output);
      EXPECT_EQ(curves.lags, ending == std::string(".csv") ? 127u : 128u);
      for (const double g : curves.g) EXPECT_TRUE(std::isnan(g)) << output;
    }
#ifdef TAUTLINE_ZIP
  correlate("one_dark.u8", "one_dark.zip", "2");
#endif
  const CommandResult refused =
      run_command({"autocorrelate", scratch_ / "dark.u8", "-o", scratch_ / "zero.csv", "--dtype",
                   "u8", "--sensors", "1", "--bins", "1", "--levels", "1", "--bin", "1e-6"},
                  scratch_.path().string());
  EXPECT_EQ(refused.status, 2);
  EXPECT_NE(refused.err.find("lag 0 alone"), std::string::npos) << refused.err;
}

// A wide array: what it needs and what would do is said, and does.
TEST_F(AutocorrelateOptions, ManySensors) {
  const std::size_t sensors = std::getenv("TAUTLINE_SMALL") == nullptr ? 100'000 : 10'000;
  constexpr std::size_t kTimes = 120;
  auto random = generator();
  std::string counts(sensors * kTimes, '\0');
  for (char& count : counts) count = static_cast<char>(random());
  write_file(scratch_ / "wide.u8", counts);
  const auto correlate = [&](const std::vector<std::string>& more) {
    std::vector<std::string> all{"--device",
                                 "cpu",
                                 "autocorrelate",
                                 scratch_ / "wide.u8",
                                 "-o",
                                 scratch_ / "wide.h5",
                                 "--overwrite",
                                 "--dtype",
                                 "u8",
                                 "--sensors",
                                 std::to_string(sensors),
                                 "--bin",
                                 "1e-6",
                                 "--bins",
                                 "4",
                                 "--levels",
                                 "2"};
    all.insert(all.end(), more.begin(), more.end());
    return run_command(all, scratch_.path().string());
  };
  const CommandResult refused = correlate({"--memory", "64K"});
  EXPECT_EQ(refused.status, 2) << refused.err;
  std::smatch found;
  ASSERT_TRUE(std::regex_search(
      refused.err, found,
      std::regex("give --memory ([0-9]+)M, or --segments 1 [(]no standard errors[)], which needs "
                 "([0-9]+) MiB")))
      << refused.err;
  EXPECT_LT(std::stoul(found[2]), std::stoul(found[1]));
  for (const bool segments : {true, false}) {
    std::vector<std::string> more{"--memory", found[segments ? 1 : 2].str() + "M"};
    if (!segments) more.insert(more.end(), {"--segments", "1"});
    const CommandResult done = correlate(more);
    ASSERT_EQ(done.status, 0) << done.err;
    const auto c = formats::curves::read_hdf5(scratch_ / "wide.h5");
    ASSERT_EQ(c.curves, sensors);
    EXPECT_EQ(c.standard_error.empty(), !segments);
    for (std::size_t s = 0; s < sensors; ++s) {
      Series one;
      for (std::size_t t = 0; t < kTimes; ++t)
        one.push_back(static_cast<std::uint8_t>(counts[t * sensors + s]));
      for (std::size_t l = 0; l < 4; ++l)
        ASSERT_EQ(c.sums[s * c.lags + l], sum_at(one, one, l)) << "sensor " << s << ", lag " << l;
    }
  }
}

TEST_F(AutocorrelateOptions, SensorMaskAndBinSensors) {
  // Of the 2 x 3 blocks of 2 x 2 the first lacks one sensor, the last all.
  std::string mask;
  std::vector<bool> good(kSmallSensors, true);
  for (const std::size_t bad : {7u, 16u, 17u, 22u, 23u}) good[bad] = false;
  for (std::size_t s = 0; s < kSmallSensors; ++s) mask += good[s] ? "1 " : "0 ";
  write_file(scratch_ / "mask.txt", mask);
  const auto masked = curves({"--shape", "4x6", "--sensor-mask", scratch_ / "mask.txt"});
  ASSERT_EQ(masked.curves, kSmallSensors);
  for (std::size_t s = 0; s < kSmallSensors; ++s) {
    EXPECT_EQ(masked.mask[s], good[s]) << s;
    EXPECT_EQ(masked.first[s].row, static_cast<std::int64_t>(s / kColumns));
    EXPECT_EQ(masked.first[s].column, static_cast<std::int64_t>(s % kColumns));
  }
  expect_sums(masked, 5, sensor(5), sensor(5), "a good sensor");

  const auto c =
      curves({"--shape", "4x6", "--sensor-mask", scratch_ / "mask.txt", "--bin-sensors", "2x2"});
  ASSERT_EQ(c.curves, 6u);
  EXPECT_EQ(c.mask, (std::vector<std::uint8_t>{1, 1, 1, 1, 1, 0}));
  for (std::size_t block = 0; block < 6; ++block) {
    Series added(kSamples);
    for (std::size_t member = 0; member < 4; ++member) {
      const std::size_t s = (block / 3 * 2 + member / 2) * kColumns + block % 3 * 2 + member % 2;
      const Series one = sensor(s);
      for (std::size_t t = 0; t < kSamples && good[s]; ++t) added[t] += one[t];
    }
    expect_sums(c, block, added, added, "block " + std::to_string(block));
  }
}

// As NumPy saves a mask.
TEST_F(AutocorrelateOptions, SensorMaskOfBooleans) {
  std::vector<std::uint8_t> mask(kSmallSensors, 1);
  mask[3] = 0;
  formats::npy::ArrayWriter writer(scratch_ / "mask.npy", "|b1", {kRows, kColumns}, true);
  writer.write(std::as_bytes(std::span(mask)));
  writer.finish();
  EXPECT_EQ(curves({"--sensor-mask", scratch_ / "mask.npy"}).mask, mask);
}

TEST_F(AutocorrelateOptions, PairsOfAFile) {
  write_file(scratch_ / "pairs.txt", "# earlier, later\n0 5\n5, 0\n\n23 23\n");
  const auto c = curves({"--pairs", scratch_ / "pairs.txt"});
  ASSERT_EQ(c.curves, 3u);
  EXPECT_TRUE(c.cross);
  expect_sums(c, 0, sensor(0), sensor(5), "0 5");
  expect_sums(c, 1, sensor(5), sensor(0), "5 0");
  expect_sums(c, 2, sensor(23), sensor(23), "23 23");
  EXPECT_EQ(c.first[0].label, "sensor 0");
  EXPECT_EQ(c.second[0].label, "sensor 5");
}

TEST_F(AutocorrelateOptions, Coarsen) {
  const Series one = sensor(4);
  for (const std::string how : {"sum", "first", "second"}) {
    const auto c = curves({"--coarsen", how});
    Series coarse;
    for (std::size_t t = 0; t + 2 <= kSamples; t += 2)
      coarse.push_back(how == "sum" ? one[t] + one[t + 1] : one[t + (how == "second" ? 1 : 0)]);
    expect_sums(c, 4, one, one, how);
    for (std::size_t l = kBins + 1; l < c.lags; ++l)
      EXPECT_EQ(c.sums[4 * c.lags + l], sum_at(coarse, coarse, c.lag_samples[l] / 2))
          << how << ", lag " << c.lag_samples[l];
  }
}

TEST_F(AutocorrelateOptions, Normalize) {
  const Series one = sensor(9);
  double mean = 0;
  for (const std::int64_t count : one) mean += static_cast<double>(count) / kSamples;
  const auto none = curves({"--normalize", "none"}), global = curves({"--normalize", "global"}),
             symmetric = curves({});
  EXPECT_EQ(none.normalization, core::Normalization::none);
  EXPECT_EQ(global.normalization, core::Normalization::global);
  EXPECT_EQ(symmetric.normalization, core::Normalization::symmetric);
  for (std::size_t l = 0; l <= kBins; ++l) {
    const std::size_t i = 9 * none.lags + l;
    double around = 0, earlier = 0, later = 0;
    const double n = static_cast<double>(kSamples - l);
    for (std::size_t t = 0; t + l < kSamples; ++t) {
      const auto a = static_cast<double>(one[t]), b = static_cast<double>(one[t + l]);
      around += (a - mean) * (b - mean) / (mean * mean) / n;
      earlier += a;
      later += b;
    }
    const auto sum = static_cast<double>(sum_at(one, one, l));
    EXPECT_EQ(none.g[i], sum);
    EXPECT_NEAR(global.g[i], around, 1e-12);
    EXPECT_NEAR(symmetric.g[i], n * sum / (earlier * later) - 1, 1e-12);
  }
}

TEST_F(AutocorrelateOptions, Gate) {
  const std::string path = scratch_ / "x.ptu";
  const CommandResult made = run_command(
      {"simulate", "photons", "--duration", "0.1", "--seed", std::to_string(generator()()),
       "--model", "diffusion:n=2,tau=2e-4,rate=1e5", "-o", path},
      scratch_.path().string());
  ASSERT_EQ(made.status, 0) << made.err;
  constexpr double kLow = 1e-9, kHigh = 3e-9, kBin = 1e-5;
  const auto reader = formats::open_photons(path);
  const formats::PhotonDescription& d = reader->description();
  const auto ticks = static_cast<std::uint64_t>(std::llround(kBin / d.time_unit_s));
  Series all, gated;
  std::set<unsigned> microtimes;
  std::vector<formats::Photon> photons(1 << 12);
  while (const std::size_t count = reader->read(photons))
    for (std::size_t n = 0; n < count; ++n) {
      const std::uint64_t bin = photons[n].time / ticks;
      all.resize(bin + 1);
      gated.resize(bin + 1);
      ++all[bin];
      const double micro_s = photons[n].microtime * d.microtime_unit_s;
      if (micro_s >= kLow && micro_s < kHigh) ++gated[bin];
      microtimes.insert(photons[n].microtime);
    }
  for (const bool gate : {false, true})
    for (const std::string method : {"bins", "direct"}) {
      std::vector<std::string> more{"--bin", "1e-5", "--tags", method};
      if (gate) more.insert(more.end(), {"--gate", "1e-9:3e-9"});
      const auto c = curves("x.ptu", more);
      ASSERT_EQ(c.curves, 1u);
      Series expected = gate ? gated : all;
      expected.resize(c.samples);
      expect_sums(c, 0, expected, expected, gate ? "gated" : "all");
    }
  EXPECT_LT(gated, all);
  for (const bool beyond : {false, true}) {
    const CommandResult run =
        run_command({"autocorrelate", path, "-o", scratch_ / "beyond.csv", "--overwrite", "--gate",
                     fmt::format("0:{}", d.time_unit_s * (beyond ? 10 : 1))},
                    scratch_.path().string());
    EXPECT_EQ(run.status, 0) << run.err;
    EXPECT_EQ(run.err.find("behind the period of") != std::string::npos, beyond) << run.err;
  }
  unsigned unused = 1;
  while (microtimes.contains(unused)) ++unused;
  const CommandResult none =
      run_command({"autocorrelate", path, "-o", scratch_ / "none.csv", "--bin", "1e-5", "--gate",
                   fmt::format("{}:{}", (unused - 0.5) * d.microtime_unit_s,
                               (unused + 0.5) * d.microtime_unit_s)},
                  scratch_.path().string());
  EXPECT_EQ(none.status, kWrongUsage) << none.err;
  EXPECT_NE(none.err.find("has no photon, expected a range with some of the"), std::string::npos)
      << none.err;
  EXPECT_FALSE(std::filesystem::exists(scratch_ / "none.csv"));
}

// Options that an input has no use for are refused, not passed over.
TEST_F(AutocorrelateOptions, OfOtherFormatsAreRefused) {
  ASSERT_EQ(run_command({"simulate", "photons", "--duration", "0.01", "--model",
                         "diffusion:n=2,tau=2e-4,rate=1e5", "-o", scratch_ / "x.ptu"},
                        scratch_.path().string())
                .status,
            0);
  // Its first bytes are enough.
  write_file(scratch_ / "x.tif", std::string("II*\0\x08\0\0\0", 8));
  const auto refused = [&](const std::string& input, std::vector<std::string> more) {
    const std::string option = more.front();
    more.insert(more.begin(), {"autocorrelate", scratch_ / input, "-o", scratch_ / "g.h5",
                               "--overwrite", "--bin", "1e-5"});
    const CommandResult result = run_command(more, scratch_.path().string());
    EXPECT_EQ(result.status, 2) << input << " " << option << ": " << result.err;
    EXPECT_NE(result.err.find(option + ": given for"), std::string::npos) << result.err;
  };
  for (const char* input : {"x.npy", "x.ptu", "x.tif"}) {
    refused(input, {"--header", "16"});
    refused(input, {"--sensors", "24"});
  }
  refused("x.tif", {"--dtype", "u8"});
  for (const char* input : {"x.npy", "x.tif"}) {
    refused(input, {"--detectors", "0"});
    refused(input, {"--gate", "1e-9:2e-9"});
  }
  // A raw file needs one of them.
  write_file(scratch_ / "x.u8", std::string(counts_.begin(), counts_.end()));
  for (const std::vector<std::string>& more :
       {std::vector<std::string>{"--sensors", "24"}, {"--shape", "4x6"}}) {
    std::vector<std::string> options{"--dtype", "u8", "--bin", "1e-6"};
    options.insert(options.end(), more.begin(), more.end());
    expect_sums(curves("x.u8", options), 3, sensor(3), sensor(3), more.front());
  }
}

}  // namespace
}  // namespace tautline::tests

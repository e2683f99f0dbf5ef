// Every normalisation can be made again from an HDF5 file of curves, as docs/guide/formats.md says.
#include <gtest/gtest.h>

#include <cmath>

#include "tautline/formats/curves/curves.h"
#include "tests/pipeline/photons/count_files.h"

namespace tautline::pipeline {
namespace {

using core::Normalization;
using stages::autocorrelate::Coarsening;
using stages::autocorrelate::LagScheme;

// The value of a lag as the contents of the file alone give it.
double remade(const core::CorrelationCurves& c, const formats::curves::CurvesFacts& facts,
              std::size_t curve, std::size_t lag, Normalization how) {
  const std::size_t bins = std::stoul(facts.extra.at("bins"));
  std::size_t level = lag / bins;
  if (facts.extra.at("lags") == "standard")
    level = lag <= bins ? 0 : (lag - bins - 1) / (bins / 2) + 1;
  const bool adds = facts.extra.at("coarsening") == "sum";
  const double window = adds ? std::ldexp(1, static_cast<int>(level)) : 1;
  const auto value = [&](const auto& exact, const auto& inexact, std::size_t at) {
    return exact.empty() ? inexact.at(at) : static_cast<double>(exact.at(at));
  };
  const std::size_t i = curve * c.lags + lag;
  const double sum = value(c.sums, c.sums_float, i) - value(c.lead_in, c.lead_in_float, i);
  const double direct = value(c.monitor_direct, c.monitor_direct_float, i);
  const double delayed = value(c.monitor_delayed, c.monitor_delayed_float, i);
  const auto n = static_cast<double>(c.counts[lag]);
  if (how == Normalization::none) return sum;
  if (how == Normalization::symmetric) return n * sum / (direct * delayed) - 1;
  const double scale = window / static_cast<double>(c.samples);
  const double a = value(c.totals, c.totals_float, 2 * curve) * scale;
  const double b = value(c.totals, c.totals_float, 2 * curve + 1) * scale;
  return (sum - b * direct - a * delayed + n * a * b) / (n * a * b);
}

void check(AutocorrelateConfig config, const tests::ScratchFolder& scratch) {
  constexpr Normalization kAll[] = {Normalization::none, Normalization::global,
                                    Normalization::symmetric};
  config.output = scratch / "g.h5";
  config.overwrite = true;
  for (const Normalization written : kAll) {
    config.normalization = written;
    autocorrelate_counts(config, device::open({}, {.threads = 2}));
    formats::curves::CurvesFacts facts;
    const core::CorrelationCurves c = formats::curves::read_hdf5(config.output, &facts);
    ASSERT_EQ(c.normalization, written);
    bool led_in = false;
    for (std::size_t i = 0; i < c.g.size(); ++i) {
      const std::size_t lag = i % c.lags;
      led_in = led_in || (c.lead_in.empty() ? c.lead_in_float.at(i) : c.lead_in.at(i)) != 0;
      if (c.counts[lag] == 0) continue;
      const double expected = remade(c, facts, i / c.lags, lag, written);
      EXPECT_NEAR(c.g[i], expected, 1e-9 * std::max(1., std::abs(expected)))
          << core::to_string(written) << ", lag " << c.lag_samples[lag];
    }
    if (config.lag_scheme == LagScheme::standard) {
      EXPECT_FALSE(led_in);
    } else if (config.coarsening == Coarsening::sum) {
      EXPECT_TRUE(led_in);
    }
  }
}

TEST(CurveFile, EveryNormalizationCanBeMadeAgain) {
#ifndef TAUTLINE_HDF5
  GTEST_SKIP() << "a build without HDF5";
#endif
  const tests::ScratchFolder scratch;
  constexpr std::size_t kSensors = 3, kSamples = 700;
  // Bright at first: what the lead-in holds is no small part.
  auto counts = tests::poisson(kSensors * kSamples, 4);
  for (std::size_t i = 0; i < 60 * kSensors; ++i) counts[i] = 200;
  AutocorrelateConfig config = tests::config_for(tests::save(scratch, counts, kSensors));
  config.bins = 6;
  config.levels = 6;
  config.sensors.pairs = "all";
  for (const LagScheme scheme : {LagScheme::chain, LagScheme::standard})
    for (const Coarsening coarsening : {Coarsening::sum, Coarsening::second}) {
      config.lag_scheme = scheme;
      config.coarsening = coarsening;
      check(config, scratch);
    }
  config.lag_scheme = LagScheme::chain;
  config.coarsening = Coarsening::sum;
  std::vector<float> floats;
  for (const std::uint8_t count : counts) floats.push_back(static_cast<float>(count) + 0.25f);
  config.input = tests::save_counts(scratch, "<f4", floats, kSensors);
  check(config, scratch);
}

}  // namespace
}  // namespace tautline::pipeline

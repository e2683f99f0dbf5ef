// From photons to parameters: simulated diffusion gives back its truth, standard errors are the
// scatter, and the curves of real time tags agree with pairs counted directly.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "tautline/device/device.h"
#include "tautline/formats/photon_reader.h"
#include "tautline/pipeline/photons/autocorrelate_counts.h"
#include "tautline/pipeline/photons/fit_curves.h"
#include "tautline/pipeline/simulation/simulate_photons.h"
#include "tests/support/scratch.h"
#include "tests/support/seed.h"

namespace tautline::pipeline {
namespace {

using stages::autocorrelate::LagScheme;

std::shared_ptr<const device::Device> cpu() {
  return device::open(device::parse_selection("cpu"), {});
}

core::CorrelationCurves correlate(const std::string& input, double bin_s, std::size_t levels) {
  AutocorrelateConfig config;
  config.input = input;
  config.bin_s = bin_s;
  config.lag_scheme = LagScheme::standard;
  config.bins = 16;
  config.levels = levels;
  AutocorrelateSummary summary;
  return correlate_counts(config, cpu(), summary);
}

struct Moments {
  double mean = 0, deviation = 0;
};

Moments moments_of(const std::vector<double>& values) {
  Moments m;
  for (const double value : values) m.mean += value / static_cast<double>(values.size());
  for (const double value : values) m.deviation += (value - m.mean) * (value - m.mean);
  m.deviation = std::sqrt(m.deviation / static_cast<double>(values.size() - 1));
  return m;
}

// Sensors are independent repeats. Two known constants lower every curve: the fixed number of
// particles in the box, and the variance of the run's mean rate, 2 (integral of G) / duration, by
// which normalising with that mean is biased. The integral of the diffusion's shape at kappa = 5
// is 4.68 diffusion times.
TEST(PhotonCurves, SimulatedDiffusionGivesItsTruth) {
  const bool full = std::getenv("TAUTLINE_FULL") != nullptr;
  const tests::ScratchFolder folder;
  SimulatePhotonsConfig simulation;
  simulation.output = folder / "x.npy";
  simulation.sensors = full ? 100 : 40;
  simulation.duration_s = full ? 10 : 2;
  simulation.bin_s = 1e-5;
  simulation.model.species = {{0.5, 2e-4, 1e5}};
  simulation.seed = tests::seed();
  simulate_photons(simulation);
  const double n = simulation::n_of(simulation::particles_of(0.5)), tau_s = 2e-4;
  const core::CorrelationCurves curves = correlate(simulation.output, simulation.bin_s, 10);
  FitConfig config;
  config.highest_lag_s = 0.02;
  constexpr double kIntegral = 4.68;
  config.fixed["offset"] = -1 / static_cast<double>(simulation::particles_of(0.5)) -
                           2 * kIntegral * tau_s / (n * simulation.duration_s);
  const FitResult result = fit_curves(curves, config);
  ASSERT_TRUE(result.from_segments);
  // Noise alone puts a curve beyond what is taken for noise once in a thousand, in each of two tests: five of 40 once
  // in 1e6.
  EXPECT_GE(10 * result.good, 9 * simulation.sensors);
  for (const std::size_t parameter : {0u, 1u}) {
    const double truth = parameter == 0 ? n : tau_s;
    std::vector<double> values, errors, pulls;
    for (const CurveFit& one : result.fits) {
      values.push_back(one.solution.values[parameter]);
      errors.push_back(one.solution.standard_errors[parameter]);
      pulls.push_back(std::abs(values.back() - truth) / errors.back());
    }
    const Moments found = moments_of(values);
    const double sensors = static_cast<double>(simulation.sensors);
    std::cout << result.parameters[parameter].name << ": " << found.mean << " +- "
              << found.deviation / std::sqrt(sensors) << ", truth " << truth << ", scatter "
              << found.deviation << ", mean stated error " << moments_of(errors).mean << "\n";
    // Student's t of 39 degrees of freedom exceeds 8 once in 1e9. And the mean is good enough for
    // that to be a test: to 2 %, of which the scatter's own error is a tenth.
    EXPECT_NEAR(found.mean, truth, 8 * found.deviation / std::sqrt(sensors));
    EXPECT_LT(found.deviation / std::sqrt(sensors), 0.05 * truth);
    // Ten segments make errors that are themselves uncertain: Student's t of nine degrees of
    // freedom exceeds 3 in 1.5 % of draws, of short runs in 3 %: 11 of 40 once in 1e8.
    const auto far = std::count_if(pulls.begin(), pulls.end(), [](double p) { return p > 3; });
    EXPECT_LE(far, static_cast<std::ptrdiff_t>(2 + sensors * 0.2));
    EXPECT_NEAR(moments_of(errors).mean / found.deviation, 1, 0.7);
  }
}

TEST(PhotonCurves, StandardErrorsOfLagsAreTheirScatter) {
  if (std::getenv("TAUTLINE_FULL") == nullptr)
    GTEST_SKIP() << "100 repeats of 10 s take a minute or two: set TAUTLINE_FULL";
  const tests::ScratchFolder folder;
  SimulatePhotonsConfig simulation;
  simulation.output = folder / "x.npy";
  simulation.sensors = 100;
  simulation.duration_s = 10;
  simulation.model.species = {{0.5, 2e-4, 1e5}};
  simulation.seed = tests::seed() + 1;
  simulate_photons(simulation);
  // Half a segment: the first one has half the pairs of the others there.
  constexpr double kLongest = 0.5;
  const core::CorrelationCurves c = correlate(simulation.output, simulation.bin_s, 13);
  std::size_t compared = 0, outside = 0;
  double sum = 0;
  for (std::size_t l = 1; l < c.lags; ++l) {
    if (c.lag_s[l] > kLongest) continue;
    std::vector<double> g, squares;
    for (std::size_t s = 0; s < c.curves; ++s) {
      g.push_back(c.g[s * c.lags + l]);
      squares.push_back(c.standard_error[s * c.lags + l] * c.standard_error[s * c.lags + l]);
    }
    const double ratio = std::sqrt(moments_of(squares).mean) / moments_of(g).deviation;
    sum += ratio;
    ++compared;
    // The scatter of 100 repeats is itself known to 7 % (a little more, as it is not normal): one
    // lag may be far off, the mean over lags may not.
    outside += std::abs(ratio - 1) > 0.4 ? 1 : 0;
  }
  std::cout << "standard error over scatter: mean " << sum / static_cast<double>(compared) << " of "
            << compared << " lags, " << outside << " off by more than 40 %\n";
  EXPECT_NEAR(sum / static_cast<double>(compared), 1, 0.2);
  EXPECT_LE(outside, compared / 10);
}

// Pairs whose tags lie about `lag` apart, with the weight that bins of `width` give them on average
// over where the bins begin: 1 at the lag, 0 a bin away. Only tags of [0, length) count.
double direct_pairs(const std::vector<std::uint64_t>& a, const std::vector<std::uint64_t>& b,
                    double lag, double width) {
  double pairs = 0;
  std::size_t first = 0;
  for (const std::uint64_t time : a) {
    const double middle = static_cast<double>(time) + lag;
    while (first < b.size() && static_cast<double>(b[first]) <= middle - width) ++first;
    for (std::size_t n = first; n < b.size() && static_cast<double>(b[n]) < middle + width; ++n)
      pairs += 1 - std::abs(static_cast<double>(b[n]) - middle) / width;
  }
  return pairs;
}

double tags_between(const std::vector<std::uint64_t>& times, double low, double high) {
  return static_cast<double>(std::count_if(times.begin(), times.end(), [&](std::uint64_t time) {
    return static_cast<double>(time) >= low && static_cast<double>(time) < high;
  }));
}

void compare_with_pairs(const std::string& path) {
  const auto reader = formats::open_photons(path);
  const double unit_s = reader->description().time_unit_s;
  constexpr double kTicks = 20;  // a bin
  const core::CorrelationCurves c = correlate(path, kTicks * unit_s, 14);
  std::vector<std::vector<std::uint64_t>> times;
  const auto detectors = formats::count_detectors(*reader);
  ASSERT_EQ(c.curves, detectors.size());
  std::vector<formats::Photon> photons(1 << 14);
  times.resize(detectors.size());
  while (const std::size_t count = reader->read(photons))
    for (std::size_t n = 0; n < count; ++n)
      for (std::size_t d = 0; d < detectors.size(); ++d)
        if (photons[n].channel == detectors[d].channel) times[d].push_back(photons[n].time);
  const double length = static_cast<double>(reader->counts().last_time);
  for (std::size_t d = 0; d < detectors.size(); ++d) {
    double chi_squared = 0;
    constexpr std::size_t kLags = 20;
    for (std::size_t k = 0; k < kLags; ++k) {
      // From the third lag on, so that no window reaches to lag 0.
      const std::size_t l = 3 + k * (c.lags - 4) / (kLags - 1);
      const double lag = static_cast<double>(c.lag_samples[l]) * kTicks;
      // Lags m/2+1..m of level j are multiples of 2^j bins.
      double step = 1;
      while (static_cast<double>(c.lag_samples[l]) / step > 16) step *= 2;
      const double width = step * kTicks;
      const double pairs = direct_pairs(times[d], times[d], lag, width);
      const double expected = tags_between(times[d], 0, length - lag) *
                              tags_between(times[d], lag, length) * width / (length - lag);
      const double g = pairs / expected - 1;
      // Pairs are counted, and each photon at a bin's edge is weighed by light that fluctuates from
      // bin to bin by g at a bin's width: shot noise times (1 + 2 g mean count).
      const auto at = std::lower_bound(c.lag_s.begin() + 1, c.lag_s.end() - 1, width * unit_s);
      const double light =
          std::max(0.0, c.g[d * c.lags + static_cast<std::size_t>(at - c.lag_s.begin())]);
      const double mean_count = static_cast<double>(times[d].size()) / length * width;
      const double noise =
          std::sqrt(2 * (1 + 2 * light * mean_count) * std::max(pairs, 1.0)) / expected;
      // The bins' own edges and the whole bins at the run's end differ by less than 2e-3.
      EXPECT_NEAR(c.g[d * c.lags + l], g, 4 * noise + 2e-3) << path << " lag " << c.lag_s[l];
      chi_squared += std::pow((c.g[d * c.lags + l] - g) / (noise + 5e-4), 2) / kLags;
    }
    std::cout << path << " detector " << detectors[d].channel
              << ": mean square of difference over counting noise " << chi_squared << "\n";
    EXPECT_LT(chi_squared, 2.5);
  }
}

TEST(PhotonCurves, RealTagsAgreeWithPairsCountedDirectly) {
  const std::string folder = std::string(TAUTLINE_DATA_DIR) + "/fcs/";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "needs " << folder;
  compare_with_pairs(folder + "Point_1.pt3");
  compare_with_pairs(folder + "v20_t3.ptu");
}

}  // namespace
}  // namespace tautline::pipeline

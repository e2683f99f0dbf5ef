// The statistics of the search: recall and S/N of pulses, and the rate of noise over the threshold.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "tautline/stages/detect/case.h"
#include "tautline/stages/detect/detect.h"
#include "tests/support/seed.h"

namespace tautline::stages::detect {
namespace {

bool full() {
  return std::getenv("TAUTLINE_FULL") != nullptr;
}
bool small() {
  return std::getenv("TAUTLINE_SMALL") != nullptr;
}

constexpr std::size_t kTrials = 9;

// One pulse in noise, in trials of neighbouring DM: k trials from the right one, it is smeared over
// k x `drift` samples, and shifted by half of that.
std::vector<std::vector<std::int32_t>> pulse_rows(std::size_t samples, const AddedPulse& pulse,
                                                  std::size_t trial, double drift,
                                                  std::mt19937_64& random) {
  constexpr double kSigma = 37;
  std::normal_distribution<double> normal(0, kSigma);
  std::vector<double> noise(samples);
  for (double& x : noise) x = 20000 + normal(random);
  std::vector<std::vector<std::int32_t>> rows;
  for (std::size_t r = 0; r < kTrials; ++r) {
    const double off = (static_cast<double>(r) - static_cast<double>(trial)) * drift;
    AddedPulse here = pulse;
    here.width_samples = std::hypot(pulse.width_samples, off);
    here.snr *= std::sqrt(pulse.width_samples / here.width_samples);
    here.time += off / 2;
    std::vector<double> series = noise;
    add_pulse(series, here, kSigma);
    rows.emplace_back();
    for (const double x : series) rows.back().push_back(static_cast<std::int32_t>(std::lround(x)));
  }
  return rows;
}

std::vector<Pulse> search(const Config& config,
                          const std::vector<std::vector<std::int32_t>>& rows) {
  std::vector<std::int32_t> flat;
  for (const auto& row : rows) flat.insert(flat.end(), row.begin(), row.end());
  return detect(config,
                core::View<const std::int32_t, 2>(flat.data(), {rows.size(), rows[0].size()}));
}

// The brightest pulse: in one of a few thousand searches, noise alone exceeds S/N 6 somewhere.
std::vector<Pulse> by_brightness(std::vector<Pulse> pulses) {
  std::sort(pulses.begin(), pulses.end(),
            [](const Pulse& a, const Pulse& b) { return a.snr > b.snr; });
  return pulses;
}

// Injects pulses over a grid of widths and places; returns the recall, and the mean ratio of
// measured S/N to that of the best boxcar.
struct Outcome {
  std::size_t injected = 0, found = 0, misplaced = 0, wrong_trial = 0;
  double snr_ratio = 0, snr_error = 0;  ///< mean and its own error
};

// Largest error of a pulse's time, in units of width / S/N.
constexpr double kReach = 8;

Outcome inject(double snr, std::size_t count, std::mt19937_64& random) {
  const std::vector<double> widths{1.5, 2, 3, 5, 8, 13, 21, 40, 80};
  std::uniform_real_distribution<double> uniform(0, 1);
  Config config;
  config.sample_time_s = 1e-3;
  config.max_width_s = 0.12;
  Outcome outcome;
  for (std::size_t i = 0; i < count; ++i) {
    const double width = widths[i % widths.size()];
    const std::size_t samples = 6000, trial = random() % kTrials;
    const AddedPulse pulse{300 + uniform(random) * 5400, width, snr};
    const auto found = search(config, pulse_rows(samples, pulse, trial, width * 0.7, random));
    ++outcome.injected;
    // The arrival time, to the accuracy that noise allows.
    const auto match = std::find_if(found.begin(), found.end(), [&](const Pulse& p) {
      return std::fabs(static_cast<double>(p.sample()) - pulse.time) <= 1 + 1.5 * width;
    });
    if (match == found.end()) continue;
    ++outcome.found;
    // One sample for rounding. The error by noise is proportional to width / S/N.
    const double reach = 1 + kReach * width / snr;
    outcome.misplaced += std::fabs(static_cast<double>(match->sample()) - pulse.time) > reach;
    // Two trials off, S/N is lower by a quarter.
    const auto off = static_cast<double>(match->trial) - static_cast<double>(trial);
    outcome.wrong_trial += std::fabs(off) > 2 ? 1 : 0;
    const double ratio = match->snr / (0.943 * snr);
    outcome.snr_ratio += ratio;
    outcome.snr_error += ratio * ratio;
  }
  const auto n = static_cast<double>(std::max<std::size_t>(2, outcome.found));
  outcome.snr_ratio /= n;
  outcome.snr_error =
      std::sqrt((outcome.snr_error / n - outcome.snr_ratio * outcome.snr_ratio) / (n - 1));
  return outcome;
}

// With TAUTLINE_FULL, the documented numbers: recall of 99 % at S/N 10 and above and of 90 % at 8,
// mean S/N within 5 % at each. Measured: 2 of 9,000 missed at 10 and one in 60 at 8, where mean S/N
// is 1 to 2 % high; one in 160 is further off than kReach. With 4,000 pulses, a correct search
// violates one of the limits less than once in 10^7 runs. With fewer pulses the limits are wider,
// at the same rate.
TEST(Pulses, AreFoundWhereTheyAreAndAsBrightAsTheyAre) {
  auto random = tests::generator();
  double ratio = 0;
  for (const double snr : {8.0, 10.0, 15.0, 25.0}) {
    const std::size_t count = full() ? 4000 : small() ? 45 : 180;
    const auto share = [&](double part) { return part * static_cast<double>(count); };
    const Outcome outcome = inject(snr, count, random);
    std::cout << "S/N " << snr << ": " << outcome.found << " of " << count << ", ratio "
              << outcome.snr_ratio << " +- " << outcome.snr_error << ", misplaced "
              << outcome.misplaced << ", another trial " << outcome.wrong_trial << "\n";
    const double recall = small() ? 0.7 : snr < 10 ? 0.9 : full() ? 0.99 : 0.95;
    EXPECT_GE(static_cast<double>(outcome.found), share(recall)) << snr;
    EXPECT_LE(static_cast<double>(outcome.misplaced), share(0.02) + (full() ? 0 : 8)) << snr;
    EXPECT_LE(static_cast<double>(outcome.wrong_trial), share(0.05) + (full() ? 0 : 8)) << snr;
    if (full()) {
      EXPECT_NEAR(outcome.snr_ratio, 1, 0.05) << snr;
    }
    if (snr >= 10) ratio += outcome.snr_ratio / 3;
  }
  EXPECT_NEAR(ratio, 1, 0.05);
}

// The S/N of pulses so bright that only the error of sigma matters: 0.9 % from the MAD of 16,384
// samples; the limits are seven of it. The best boxcar has 0.943 of a Gaussian's S/N, or all of it
// for a Gaussian of few samples, and widths between two boxcars lose 5 % at most.
TEST(Pulses, OfEveryWidthLoseWhatTheBoxcarLoses) {
  auto random = tests::generator();
  Config config;
  config.sample_time_s = 1e-3;
  config.max_width_s = 0.12;
  for (const double width : {1.5, 3.0, 7.0, 20.0, 60.0}) {
    const AddedPulse pulse{15000.3, width, 300};
    const auto found =
        by_brightness(search(config, pulse_rows(30000, pulse, 4, width * 0.7, random)));
    ASSERT_FALSE(found.empty()) << width;
    EXPECT_EQ(found[0].trial, 4u);
    EXPECT_GT(found[0].snr, 0.965 * 0.95 * 0.943 * 300) << width;
    EXPECT_LT(found[0].snr, 1.035 * 300) << width;
    EXPECT_NEAR(static_cast<double>(found[0].sample()), pulse.time, 1 + 0.1 * width);
    EXPECT_NEAR(static_cast<double>(found[0].width), 1.21 * width, 1 + 0.15 * width);
    EXPECT_GE(found[0].members, kTrials);
  }
}

TEST(Pulses, TwoThatAreApartAreTwo) {
  auto random = tests::generator();
  Config config;
  config.sample_time_s = 1e-3;
  auto rows = pulse_rows(8000, {2000, 5, 30}, 4, 3, random);
  const auto later = pulse_rows(8000, {2400, 5, 30}, 4, 3, random);
  for (std::size_t r = 0; r < kTrials; ++r)
    for (std::size_t t = 2200; t < 2600; ++t) rows[r][t] = later[r][t];
  const auto found = by_brightness(search(config, rows));
  ASSERT_GE(found.size(), 2u);
  EXPECT_NEAR(
      std::fabs(static_cast<double>(found[0].sample()) - static_cast<double>(found[1].sample())),
      400, 6);
}

// The number of boxcars of pure noise over a level, before grouping, against the Gaussian's.
//
// The error of a number is estimated from its scatter over the trials. At 3 sigma and 8 million
// samples it is 1 % for a width of one sample and 4 % for 59. The limit is 10 % or six errors,
// whichever is larger; noise exceeds it less than once in 10^9 runs per width (64 trials: the mean
// over its error has Student's distribution). TAUTLINE_FULL tests 4 sigma, in half a billion
// samples, with a limit of 10 % where that is eight errors or more.
TEST(Noise, PassesALevelAsOftenAsAGaussian) {
  const std::size_t trials = 64;  // fewer would not tell their own error
  const std::size_t samples = std::size_t{1} << (full() ? 23 : small() ? 15 : 17);
  const std::size_t block = std::min(samples, std::size_t{1} << 17);
  Config config;
  config.trials = trials;
  config.sample_time_s = 1e-3;
  config.max_width_s = 0.125;
  config.threshold = full() ? 4 : 3;
  config.max_samples = block;
  const auto device = device::open({});
  const auto plan = make_plan(config, device);
  CaseRun calls(device);
  calls.use(plan);
  std::vector<std::int32_t> series(trials * block);
  std::vector<std::mt19937_64> random;
  for (std::size_t t = 0; t < trials; ++t) random.push_back(tests::generator());
  for (std::size_t first = 0; first < samples; first += block) {
    calls.queue().parallel_for(trials, 1, [&](std::size_t from, std::size_t to, std::size_t) {
      for (std::size_t t = from; t < to; ++t) {
        std::normal_distribution<double> normal(500, 25);
        for (std::size_t i = 0; i < block; ++i)
          series[t * block + i] = static_cast<std::int32_t>(std::lround(normal(random[t])));
      }
    });
    calls.give(Integers(series.data(), {trials, block}));
    calls.state().take();
  }
  calls.end_stream();
  const double expected = 0.5 * std::erfc(config.threshold / std::sqrt(2.0));
  const auto& widths = plan->widths();
  for (std::size_t k = 0; k < widths.size(); ++k) {
    double sum = 0, squares = 0;
    for (std::size_t t = 0; t < trials; ++t) {
      const auto count = static_cast<double>(calls.state().over_threshold()[t * widths.size() + k]);
      sum += count;
      squares += count * count;
    }
    const auto n = static_cast<double>(trials);
    const double error = std::sqrt((squares / n - sum * sum / n / n) / (n - 1)) / (sum / n);
    const double boxcars = static_cast<double>(samples - widths[k] + 1);
    const double ratio = sum / n / (boxcars * expected);
    if (full() || k % 6 == 0)
      std::cout << "width " << widths[k] << ": " << ratio << " +- " << error << "\n";
    const double noise = full() && error < 0.0125 ? 0 : 6 * error;
    EXPECT_NEAR(ratio, 1, 0.1 + noise) << widths[k];
  }
}

TEST(Noise, IsMeasuredOnTheTrialAndFollowsItsLevel) {
  auto random = tests::generator();
  std::normal_distribution<double> normal(0, 1);
  constexpr std::size_t kSamples = 4 * 16384;
  std::vector<float> series(kSamples);
  // Sigma doubles after two blocks; every block has a bright pulse and a slope of 5 sigma.
  for (std::size_t t = 0; t < kSamples; ++t)
    series[t] = static_cast<float>(normal(random) * (t < kSamples / 2 ? 3 : 6) +
                                   static_cast<double>(t) * 3e-4 + 1e5);
  for (std::size_t p = 8000; p < kSamples; p += 16384)
    for (std::size_t t = p; t < p + 10; ++t) series[t] += 60;
  Config config;
  config.sample_time_s = 1e-3;
  const auto found = detect(config, core::View<const float, 2>(series.data(), {1, kSamples}));
  std::vector<double> snrs;
  for (const Pulse& pulse : found)
    if (pulse.snr > 12) snrs.push_back(pulse.snr);
  ASSERT_EQ(snrs.size(), 4u);
  // Seven times the error: 1 from noise and sigma, and 0.8 from baseline and place.
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(snrs[i], (i < 2 ? 20 : 10) * std::sqrt(10.0), 8);
}

}  // namespace
}  // namespace tautline::stages::detect

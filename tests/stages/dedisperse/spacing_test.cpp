// Trials chosen by loss: pulses between them lose no more than was allowed.
#include "tautline/stages/dedisperse/plan/spacing.h"

#include <cstdlib>
#include <iostream>
#include <set>

#include "tests/stages/dedisperse/injection.h"

namespace tautline::stages::dedisperse {
namespace {

Config with_band(const Band& band) {
  Config config;
  config.frequencies_mhz = band.frequencies_mhz;
  config.sample_time_s = band.sample_time_s;
  return config;
}

// Eight pulses, one in each eighth of a sample, of one DM: the sum of their best boxcars along the
// delays of `trials`.
double found(Config config, std::vector<double> trials, double dm, const Injection& injected,
             std::size_t times) {
  config.dms = std::move(trials);
  config.max_samples = times;
  const auto device = device::open({}, {.threads = 2});
  const auto queue = device->make_queue();
  const auto plan = make_plan(config, device);
  std::vector<double> dms = config.dms;
  const auto nearest = std::min_element(dms.begin(), dms.end(), [&](double a, double b) {
    return std::fabs(a - dm) < std::fabs(b - dm);
  });
  return brightness(run(*plan, *queue, injected.spectra, times, {}), injected,
                    static_cast<std::size_t>(nearest - dms.begin()));
}

// The mean of `count` measurements less four of its standard errors.
template <typename Measure>
double least_possible_mean(const Measure& measure, int count) {
  double sum = 0, squares = 0;
  for (int k = 0; k < count; ++k) {
    const double one = measure();
    sum += one;
    squares += one * one;
  }
  const double mean = sum / count;
  return mean - 4 * std::sqrt((squares / count - mean * mean) / (count - 1));
}

struct Lost {
  double mean = 0, most = 0;
};

// Pulses of random DMs, anywhere between the trials, against a trial of their own DM. What is allowed
// is the mean over all times of arrival, and eight pulses differ from it by up to half as much again:
// a DM that seems to lose more than `allowed` is looked at with 16 times as many others, and loses
// the least that four standard errors of those leave possible. Of `count` pulses all may lose little:
// two in three of those half-way lose less than a quarter of what is allowed, where a neighbour's
// rounded delays are as good as their own. More follow then, until one loses as much: that none of 80
// does happens once in 10^9 runs.
Lost inject_at_random(const Band& band, Config config, const std::vector<double>& dms,
                      std::size_t count, double allowed) {
  auto random = tests::generator();
  // As many pulses in each half of the trials: steps are finest and most at low DMs.
  std::uniform_int_distribution<std::size_t> gap(0, dms.size() - 2);
  std::uniform_real_distribution<double> within(0, 1);
  const double lowest = *std::min_element(band.frequencies_mhz.begin(), band.frequencies_mhz.end());
  const double highest = band.frequencies_mhz.front();
  Lost lost;
  std::size_t k = 0;
  for (; k < count || (lost.most <= allowed / 4 && k < 80); ++k) {
    const std::size_t g = gap(random);
    // Every second one half-way, where the loss is greatest.
    const double dm = dms[g] + (k % 2 == 0 ? 0.5 : within(random)) * (dms[g + 1] - dms[g]);
    const std::size_t first = g < 2 ? 0 : g - 2, last = std::min(g + 4, dms.size());
    const std::vector<double> near(dms.begin() + static_cast<std::ptrdiff_t>(first),
                                   dms.begin() + static_cast<std::ptrdiff_t>(last));
    const auto times = static_cast<std::size_t>(
        core::dispersion_delay_s(near.back() + 1, lowest, highest) / band.sample_time_s +
        kPulses * kSpacing);
    Config exact = config;
    exact.method = Method::exact;
    exact.subband_loss = 0;
    const auto measure = [&] {
      const Injection injected = inject(config, dm, times, random);
      const double own = found(exact, {dm}, dm, injected, times);
      return 1 - found(config, near, dm, injected, times) / own;
    };
    double loss = measure();
    if (loss > allowed) loss = least_possible_mean(measure, 16);
    lost.mean += loss;
    lost.most = std::max(lost.most, loss);
  }
  lost.mean /= static_cast<double>(k);
  return lost;
}

struct Case {
  const char* name;
  Band band;
  double high;
  double loss;
};

std::vector<Case> cases() {
  return {{"parkes", {falling_band(1465, 1, 336), 1.26646875e-3}, 1000, 0.02},
          {"survey", {falling_band(1500, 1.25, 256), 128e-6}, 800, 0.02},
          {"wide", {falling_band(4030, 16, 208), 512e-6}, 250, 0.02},
          {"loose", {falling_band(1500, 1.25, 256), 128e-6}, 800, 0.08}};
}

// Pulses: a quarter of them with TAUTLINE_SMALL.
std::size_t injected(std::size_t count) {
  return std::getenv("TAUTLINE_SMALL") != nullptr ? count / 4 : count;
}

TEST(Spacing, PulsesBetweenTrialsLoseNoMoreThanAllowed) {
  for (const Case& of : cases()) {
    const auto dms = spaced_dms(of.band, 0, of.high, 0, of.loss);
    EXPECT_EQ(dms.front(), 0);
    EXPECT_EQ(dms.back(), of.high);
    Config config = with_band(of.band);
    config.pulse_width_s = of.band.sample_time_s;  // one sample: the narrowest that is resolved
    const Lost lost = inject_at_random(of.band, config, dms, injected(40), of.loss);
    const double told = spacing_loss(of.band, dms, 0);
    std::cout << of.name << ": " << dms.size() << " trials, told " << told << ", lost " << lost.mean
              << " on average, " << lost.most << " at most\n";
    // Pulses of bytes lose up to 2 % more than those that steps are planned with.
    EXPECT_LE(lost.most, 1.05 * of.loss) << of.name;
    EXPECT_LE(told, of.loss) << of.name;
    // Trials that lie closer than they need to would pass, too.
    EXPECT_GT(lost.most, of.loss / 4) << of.name;
    EXPECT_GT(told, of.loss / 4) << of.name;
  }
}

// Half of the loss for the steps and half for sub-bands, as runs share it: the whole is kept.
TEST(Spacing, StepsAndSubbandsTogetherLoseNoMoreThanAllowed) {
  const Band band{falling_band(1500, 1.25, 256), 128e-6};
  constexpr double kLoss = 0.04;
  const auto dms = spaced_dms(band, 0, 400, 0, kLoss / 2);
  Config config = with_band(band);
  config.pulse_width_s = band.sample_time_s;
  config.method = Method::subband;
  config.subband_loss = kLoss / 2;
  const Lost lost = inject_at_random(band, config, dms, injected(30), kLoss);
  std::cout << dms.size() << " trials, lost " << lost.mean << " on average, " << lost.most
            << " at most\n";
  EXPECT_LE(lost.most, kLoss);
  EXPECT_GT(lost.most, kLoss / 8);
}

TEST(Spacing, StepsGrowWithTheDmAndHaveTwoDigits) {
  const Band band{falling_band(1465, 1, 336), 1.26646875e-3};
  const auto dms = spaced_dms(band, 3, 1000, 0, 0.02);
  EXPECT_EQ(dms.front(), 3);
  EXPECT_EQ(dms.back(), 1000);
  std::set<int> steps;
  for (std::size_t k = 1; k + 1 < dms.size(); ++k) {
    EXPECT_GT(dms[k], dms[k - 1]);
    const double step = dms[k] - dms[k - 1];
    const double digits = step / std::pow(10, std::floor(std::log10(step * 1.0000001))) * 10;
    EXPECT_NEAR(digits, std::round(digits), 1e-3) << step;
    steps.insert(static_cast<int>(std::lround(step * 1000)));
  }
  EXPECT_GT(steps.size(), 2u);
  // The order of channels does not matter, nor does the part of the range that is asked for change
  // how far apart trials lie.
  Band rising = band;
  std::reverse(rising.frequencies_mhz.begin(), rising.frequencies_mhz.end());
  EXPECT_EQ(spaced_dms(rising, 3, 1000, 0, 0.02), dms);
  EXPECT_LT(spaced_dms(band, 3, 1000, 5e-3, 0.02).size(), dms.size());
  EXPECT_LT(dms.size(), spaced_dms(band, 3, 1000, 0, 0.005).size());
}

TEST(Spacing, RangesThatAreNoneAndThoseOfOneChannel) {
  const Band band{falling_band(1465, 1, 336), 1e-3};
  EXPECT_EQ(spaced_dms(band, 7, 7, 0, 0.02), std::vector<double>{7});
  EXPECT_EQ(spaced_dms({{1400.0}, 1e-3}, 0, 50, 0, 0.02), (std::vector<double>{0, 50}));
  EXPECT_EQ(spacing_loss(band, {7}, 0), 0);
  EXPECT_THROW(spaced_dms(band, 10, 0, 0, 0.02), core::Error);
  EXPECT_THROW(spaced_dms(band, -1, 1, 0, 0.02), core::Error);
}

// Levin's tolerance of 1.25 lets go of more than steps of 1 do.
TEST(Spacing, GivenTrialsAreToldTheirLoss) {
  const Band band{falling_band(1465, 1, 336), 1.26646875e-3};
  const double coarse = spacing_loss(band, linear_dms(0, 1000, 5), 0);
  const double fine = spacing_loss(band, linear_dms(0, 1000, 1), 0);
  const double levin = spacing_loss(band, tolerance_dms(band, 0, 1000, 40e-6, 1.25), 0);
  EXPECT_GT(coarse, 4 * fine);
  EXPECT_GT(levin, 0.05);
  EXPECT_LT(fine, 0.05);
}

}  // namespace
}  // namespace tautline::stages::dedisperse

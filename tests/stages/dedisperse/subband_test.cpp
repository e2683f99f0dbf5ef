// Sub-bands: the sums are those of the plan's delays, and pulses lose no more than was stated.
#include <cmath>
#include <cstdlib>

#include "tests/stages/dedisperse/support.h"

namespace tautline::stages::dedisperse {
namespace {

// A survey's band at which the smearing inside channels grows from nothing to several samples.
Config survey(std::size_t trials, double step) {
  Config config;
  config.frequencies_mhz = falling_band(1500, 1.25, 256);
  config.sample_time_s = 128e-6;
  config.dms = even_dms(step, trials);
  return config;
}

TEST(Subband, SumsAlongTheDelaysThatThePlanTells) {
  Config config = survey(120, 2);
  config.method = Method::subband;
  const auto device = device::open({});
  const std::size_t times = make_plan(config, device)->max_delay() + 200;
  auto random = tests::generator();
  const auto spectra = make_spectra(config, times, random);
  for (const std::string& name : host_devices()) {
    const auto cpu = device::open(device::parse_selection(name));
    const auto plan = make_plan(fitted(config, times, {}), cpu);
    ASSERT_EQ(plan->choice().method, Method::subband);
    ASSERT_LE(plan->choice().loss, config.max_loss);
    ASSERT_LT(plan->choice().adds, plan->choice().plain_adds / 2);
    const auto queue = cpu->make_queue();
    const Series got = run(*plan, *queue, spectra, times, {});
    ASSERT_EQ(got.times, 200u);
    for (std::size_t i = 0; i < 120; i += 7)
      for (std::size_t t = 0; t < 200; t += 11) {
        std::int64_t sum = 0;
        for (std::size_t c = 0; c < 256; ++c)
          sum += std::to_integer<int>(
              spectra[(t + static_cast<std::size_t>(plan->delay(i, c))) * 256 + c]);
        ASSERT_EQ(got.integers[i * 200 + t], sum) << name << " trial " << i;
      }
  }
}

// Adds a box of area `area` between two times to samples that begin at 0: to each what of it is in
// that sample.
void add_box(std::vector<double>& series, double from, double to, double area) {
  if (to - from < 1e-9) to = from + 1e-9;
  for (double k = std::floor(from); k < to; ++k) {
    if (k < 0 || k >= static_cast<double>(series.size())) continue;
    series[static_cast<std::size_t>(k)] +=
        area * (std::min(to, k + 1) - std::max(from, k)) / (to - from);
  }
}

// What a channel receives of a pulse at time `at`: boxes of its own width (in steps of a sixth of a
// sample and less) and of the smearing (exactly: it may be many samples), convolved and sampled.
void add_pulse(std::vector<double>& series, double at, double own, double smear) {
  const int steps = own > 0 ? 24 : 1;
  for (int a = 0; a < steps; ++a) {
    const double middle = at + own * ((a + 0.5) / steps - 0.5);
    add_box(series, middle - smear / 2, middle + smear / 2, 1.0 / steps);
  }
}

double norm(const std::vector<double>& x) {
  double sum = 0;
  for (const double v : x) sum += v * v;
  return sum;
}

// Every ninth trial; every one with TAUTLINE_FULL.
TEST(Subband, PulsesAcrossThePlanLoseNoMoreThanStated) {
  const std::size_t step = std::getenv("TAUTLINE_FULL") != nullptr ? 1 : 9;
  for (const double pulse_samples : {0.0, 4.0})
    for (const double max_loss : {0.01, 0.05}) {
      Config config = survey(400, 2);
      config.method = Method::subband;
      config.max_loss = max_loss;
      config.pulse_width_s = pulse_samples * config.sample_time_s;
      const auto plan = make_plan(config, device::open({}));
      EXPECT_LE(plan->choice().loss, max_loss);
      ASSERT_EQ(plan->choice().method, Method::subband) << pulse_samples << ", " << max_loss;
      double worst = 0;
      for (std::size_t i = 0; i < config.dms.size(); i += step) {
        // S/N of the matched filter, averaged over where in a sample the pulse arrives.
        double exact = 0, subband = 0;
        for (int phase = 0; phase < 8; ++phase) {
          std::vector<double> e(80, 0.0), s(80, 0.0);
          for (std::size_t c = 0; c < 256; ++c) {
            const double f = config.frequencies_mhz[c];
            const double delay = core::dispersion_delay_s(config.dms[i], f, 1500) / 128e-6;
            const double smear =
                core::dispersion_delay_s(config.dms[i], f - 0.625, f + 0.625) / 128e-6;
            const double at = 40 + phase / 8.0 + delay;
            add_pulse(e, at - std::round(delay), pulse_samples, smear);
            add_pulse(s, at - static_cast<double>(plan->delay(i, c)), pulse_samples, smear);
          }
          exact += norm(e), subband += norm(s);
        }
        worst = std::max(worst, 1 - std::sqrt(subband / exact));
      }
      // Twice nothing would also pass the limit: some loss there must be where sums are shared.
      EXPECT_GT(worst, max_loss / 20) << pulse_samples;
      EXPECT_LE(worst, max_loss * 1.02) << pulse_samples;
    }
}

TEST(Subband, NoLossAllowedIsExact) {
  Config config = survey(50, 2);
  config.max_loss = 0;
  const auto plan = make_plan(config, device::open({}));
  EXPECT_NE(plan->choice().method, Method::subband);
  EXPECT_EQ(plan->choice().loss, 0);
  for (std::size_t i = 0; i < 50; ++i)
    for (std::size_t c = 0; c < 256; ++c)
      ASSERT_EQ(plan->delay(i, c),
                core::dispersion_delay_samples(config.dms[i], config.frequencies_mhz[c], 1500,
                                               config.sample_time_s));
}

}  // namespace
}  // namespace tautline::stages::dedisperse

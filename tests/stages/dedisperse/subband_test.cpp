// Sub-bands: the sums are those of the plan's delays, and pulses lose no more than was stated.
#include "tautline/stages/dedisperse/plan/subband.h"

#include <algorithm>
#include <cstdlib>
#include <iostream>

#include "tests/stages/dedisperse/injection.h"
#include "tests/support/gpus.h"

namespace tautline::stages::dedisperse {
namespace {

// A survey's band at which the smearing inside channels grows from nothing to several samples.
Config survey(std::size_t trials, double step) {
  Config config;
  config.frequencies_mhz = falling_band(1500, 1.25, 256);
  config.sample_time_s = 128e-6;
  config.dms = even_dms(step, trials);
  config.subband_loss = 0.01;
  return config;
}

// Delays, of all trials and channels, that are not the exact ones.
std::size_t changed_delays(const Plan& plan) {
  const Config& config = plan.config();
  const double highest =
      *std::max_element(config.frequencies_mhz.begin(), config.frequencies_mhz.end());
  std::size_t changed = 0;
  for (std::size_t i = 0; i < config.dms.size(); ++i)
    for (std::size_t c = 0; c < config.frequencies_mhz.size(); ++c)
      changed += plan.delay(i, c) != core::dispersion_delay_samples(config.dms[i],
                                                                    config.frequencies_mhz[c],
                                                                    highest, config.sample_time_s);
  return changed;
}

// Sub-bands ran: the plan says so, their delays are not the exact ones, and a loss is told, within
// what is allowed.
void expect_subbands(const Plan& plan, double subband_loss) {
  EXPECT_EQ(plan.choice().method, Method::subband);
  EXPECT_GT(changed_delays(plan), 0u);
  EXPECT_GT(plan.choice().loss, 0);
  EXPECT_LE(plan.choice().loss, subband_loss);
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
    expect_subbands(*plan, config.subband_loss);
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

// The channels that are summed.
std::vector<std::size_t> plan_channels(const Config& config) {
  std::vector<std::size_t> channels;
  for (std::size_t c = 0; c < config.frequencies_mhz.size(); ++c)
    if (std::find(config.ignored_channels.begin(), config.ignored_channels.end(), c) ==
        config.ignored_channels.end())
      channels.push_back(c);
  return channels;
}

// Where pulses lie between a trial's DM and the next one's.
constexpr double kBetween[] = {0, 0.25, 0.5};

// Every ninth trial; every one with TAUTLINE_FULL, and a few with TAUTLINE_SMALL.
std::size_t stated_step() {
  if (std::getenv("TAUTLINE_FULL") != nullptr) return 1;
  return std::getenv("TAUTLINE_SMALL") != nullptr ? 57 : 9;
}

void lose_no_more_than_stated(const Config& of, const std::vector<double>& pulses,
                              const std::vector<double>& losses) {
  const std::size_t step = stated_step();
  for (std::size_t p = 0; p < pulses.size(); ++p)
    for (std::size_t l = 0; l < losses.size(); ++l) {
      // Each pulse and each loss once.
      if (std::getenv("TAUTLINE_SMALL") != nullptr && p != l) continue;
      const double pulse_samples = pulses[p], subband_loss = losses[l];
      Config config = of;
      config.method = Method::subband;
      config.subband_loss = subband_loss;
      config.pulse_width_s = pulse_samples * config.sample_time_s;
      const auto plan = make_plan(config, device::open({}));
      expect_subbands(*plan, subband_loss);
      double worst = 0;
      for (std::size_t i = 0; i + 1 < config.dms.size(); i += step)
        for (const double between : kBetween) {
          const double dm = config.dms[i] + between * (config.dms[i + 1] - config.dms[i]);
          // The best boxcar's S/N in the better trial, averaged over when in a sample it arrives.
          double exact = 0, subband = 0;
          for (int phase = 0; phase < 8; ++phase) {
            double best_exact = 0, best_subband = 0;
            for (std::size_t trial = i; trial <= i + (between > 0 ? 1 : 0); ++trial) {
              std::vector<double> e(80, 0.0), s(80, 0.0);
              for (const std::size_t c : plan_channels(config)) {
                const double f = config.frequencies_mhz[c];
                const double delay = core::dispersion_delay_s(dm, f, 1500) / 128e-6;
                const double smear = core::dispersion_delay_s(dm, f - 0.625, f + 0.625) / 128e-6;
                const double at = 40 + phase / 8.0 + delay;
                const auto rounded = core::dispersion_delay_samples(config.dms[trial], f, 1500,
                                                                    config.sample_time_s);
                add_pulse(e, at - static_cast<double>(rounded), pulse_samples, smear);
                add_pulse(s, at - static_cast<double>(plan->delay(trial, c)), pulse_samples, smear);
              }
              best_exact = std::max(best_exact, best_boxcar(e.data(), 0, e.size()));
              best_subband = std::max(best_subband, best_boxcar(s.data(), 0, s.size()));
            }
            exact += best_exact, subband += best_subband;
          }
          worst = std::max(worst, 1 - subband / exact);
        }
      // Twice nothing would also pass the limit: some loss there must be where sums are shared.
      EXPECT_GT(worst, subband_loss / 20) << pulse_samples;
      EXPECT_LE(worst, subband_loss) << pulse_samples;
    }
}

TEST(Subband, PulsesAcrossThePlanLoseNoMoreThanStated) {
  lose_no_more_than_stated(survey(400, 2), {0.0, 4.0}, {0.01, 0.05});
}

// Channels are as wide as they are, whichever of their neighbours are ignored.
TEST(Subband, PulsesInFewChannelsLoseNoMoreThanStated) {
  Config config = survey(400, 2);
  for (std::size_t c = 0; c < 256; ++c)
    if (c % 4 != 1) config.ignored_channels.push_back(c);
  lose_no_more_than_stated(config, {0.0}, {0.01});
}

// Pulses closer than a sample to a trial, of less than a sample.
TEST(Subband, PulsesOfFineStepsLoseNoMoreThanStated) {
  Config config = survey(300, 0.5);
  for (double& dm : config.dms) dm += 100;
  lose_no_more_than_stated(config, {0.25}, {0.01});
}

// A sub-band of one channel is moved by whole samples to where it fits best: half a sample off at
// most, which its delays here are, between two samples.
TEST(Subband, DelaysBetweenSamplesStayThere) {
  Config config;
  config.sample_time_s = 1e-3;
  config.subband_loss = 0.1;
  config.method = Method::subband;
  for (std::size_t c = 0; c < 17; ++c)
    config.frequencies_mhz.push_back(1500 - 10 * static_cast<double>(c));
  const double unit = core::dispersion_delay_s(1, config.frequencies_mhz.back(), 1500) / 1e-3;
  for (int k = 0; k < 40; ++k) config.dms.push_back((k + 0.5) / unit);
  const DelayPlan plan(config);
  LossMeter meter(plan);
  const LossyDelays found = subband_delays(plan, meter, 16);
  EXPECT_NE(found.delays.samples, plan.exact().samples);
  for (std::size_t i = 0; i < config.dms.size(); ++i)
    ASSERT_NEAR(found.delays(i, 16), plan.exact_delay(i, 16), 0.5 + 1e-9) << i;
}

// Loss of S/N against exact sums.
struct Worst {
  double on_trials = 0, between = 0;
};

// Pulses of every `step`th trial's DM, and of DMs between it and the next.
Worst inject_across(Config config, const std::string& device_name, const Tunables& tunables,
                    std::size_t step) {
  const auto device = device::open(device::parse_selection(device_name), {.threads = 2});
  const auto queue = device->make_queue();
  const auto plan = [&](Method method) {
    config.method = method;
    return make_plan(config, device, tunables);
  };
  config.max_samples = 1;
  config.max_samples = plan(Method::exact)->max_delay() + kPulses * kSpacing;
  const auto exact = plan(Method::exact), subband = plan(Method::subband);
  expect_subbands(*subband, config.subband_loss);
  auto random = tests::generator();
  Worst worst;
  for (std::size_t i = 0; i + 1 < config.dms.size(); i += step)
    for (const double between : kBetween) {
      const double dm = config.dms[i] + between * (config.dms[i + 1] - config.dms[i]);
      const Injection injected = inject(config, dm, config.max_samples, random);
      const auto measure = [&](const Plan& of) {
        return brightness(run(of, *queue, injected.spectra, config.max_samples, {}), injected, i);
      };
      double& lost = between > 0 ? worst.between : worst.on_trials;
      lost = std::max(lost, 1 - measure(*subband) / measure(*exact));
    }
  return worst;
}

std::size_t injected_step() {
  if (std::getenv("TAUTLINE_FULL") != nullptr) return 1;
  return std::getenv("TAUTLINE_SMALL") != nullptr ? 199 : 57;
}

void expect_within(const Worst& worst, double subband_loss, double pulse_samples) {
  std::cout << "pulses of " << pulse_samples << " samples, " << subband_loss << " allowed: lost "
            << worst.on_trials << " on trials, " << worst.between << " between them\n";
  EXPECT_LE(worst.on_trials, subband_loss);
  EXPECT_LE(worst.between, subband_loss);
  // A plan without loss shares nothing.
  EXPECT_GT(worst.on_trials, subband_loss / 50);
}

TEST(Subband, InjectedPulsesLoseNoMoreThanStated) {
  for (const double pulse_samples : {0.0, 4.0})
    for (const double subband_loss : {0.01, 0.05}) {
      if (std::getenv("TAUTLINE_SMALL") != nullptr && (pulse_samples == 0 || subband_loss > 0.01))
        continue;
      Config config = survey(400, 2);
      config.subband_loss = subband_loss;
      config.pulse_width_s = pulse_samples * config.sample_time_s;
      expect_within(inject_across(config, "cpu", {}, injected_step()), subband_loss, pulse_samples);
    }
}

class InjectedOnGpu : public ::testing::TestWithParam<std::string> {};

TEST_P(InjectedOnGpu, PulsesLoseNoMoreThanStated) {
  SKIP_WITHOUT_GPU(GetParam());
  Config config = survey(60, 6);
  config.frequencies_mhz = falling_band(1500, 4, 64);
  config.subband_loss = 0.05;
  config.pulse_width_s = 4 * config.sample_time_s;
  Tunables tunables;
  tunables.gpu = {16, 2, 1, 4, 32};
  expect_within(inject_across(config, GetParam(), tunables, 29), config.subband_loss, 4);
}

INSTANTIATE_TEST_SUITE_P(Devices, InjectedOnGpu, ::testing::ValuesIn(tests::gpu_names()),
                         [](const auto& info) { return tests::test_name(info.param); });

TEST(Subband, NoLossAllowedIsExact) {
  Config config = survey(50, 2);
  config.subband_loss = 0;
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

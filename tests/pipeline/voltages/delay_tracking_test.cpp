#include "tautline/pipeline/voltages/delay_tracking.h"

#include <gtest/gtest.h>

#include "tautline/core/baseline.h"
#include "tautline/core/error.h"
#include "tautline/formats/delays/track.h"
#include "tautline/pipeline/voltages/frequencies.h"
#include "tests/pipeline/simulated.h"
#include "tests/support/seed.h"

namespace tautline {
namespace {

namespace delays = formats::delays;
using pipeline::run_delays;
using pipeline::SpectraRun;
using tests::array_at;

constexpr double kTrackDeg = 180 / std::numbers::pi;

delays::Table table_of(const std::vector<delays::Model>& models) {
  delays::Table table;
  table.phase_centre = "test";
  table.inputs = models;
  return table;
}

// The phase of every spectrum and channel must be that of the delay at the spectrum's middle.
TEST(RunDelays, GiveThePhaseOfTheDelayEverywhere) {
  const core::Instant start = core::parse_utc("2024-03-20T12:00:00");
  const double delay_s = 12.3456789e-6, rate = 3.21e-9;
  const auto table = table_of({{{core::parse_utc("2024-03-20T11:59:00"), delay_s, rate}},
                               {{core::parse_utc("2024-03-20T11:59:00"), -delay_s, -rate}}});
  SpectraRun run{.start = start,
                 .rate_hz = {1280000, 1},
                 .hop_samples = 128,
                 .span_samples = 1024,
                 .spectra = 5000,
                 .baseband_zero_hz = 1420.4e6};
  const auto result = run_delays(table, run);
  ASSERT_EQ(result.phases.size(), 2u);
  EXPECT_EQ(result.whole_samples, (std::vector<std::int64_t>{16, -16}));
  for (const std::uint64_t s : {0u, 1u, 2500u, 4999u}) {
    const double t = 60 + (static_cast<double>(s) * 128 + 512) / 1.28e6;
    const double d = delay_s + rate * t;
    for (const double f : {-0.5, -0.125, 0.0, 0.3}) {  // cycles per sample
      const auto& p = result.phases[0];
      const double steps = static_cast<double>(s);
      const double angle =
          p.phase_rad + steps * p.phase_step_rad + f * (p.slope_rad + steps * p.slope_step_rad);
      // exp(-2 pi i f' n) is what the shift by n = 16 whole samples has done.
      const double found = angle / (2 * std::numbers::pi) - f * 16;
      const double expected = -(1420.4e6 + f * 1.28e6) * d;
      EXPECT_NEAR(std::remainder(found - expected, 1.0), 0, 1e-8) << s << " " << f;
    }
  }
}

TEST(RunDelays, TakeTheRateWhereThereIsOneSpectrum) {
  const core::Instant start = core::parse_utc("2024-03-20T12:00:00");
  const auto table = table_of({{{start, 1e-7, 1e-9}}});
  SpectraRun run{.start = start,
                 .rate_hz = {1000000, 1},
                 .hop_samples = 100,
                 .span_samples = 800,
                 .spectra = 1,
                 .baseband_zero_hz = 1e9};
  const auto one = run_delays(table, run);
  EXPECT_NEAR(one.phases[0].phase_step_rad, -2 * std::numbers::pi * 1e9 * 1e-4 * 1e-9, 1e-12);
  EXPECT_NEAR(one.phases[0].slope_rad, -2 * std::numbers::pi * (0.1 + 4e-4 * 1e-3), 1e-12);
  run.spectra = 0;
  EXPECT_THROW(run_delays(table, run), core::Error);
  run.spectra = 1;
  run.start = core::parse_utc("2024-03-20T11:59:59");
  EXPECT_THROW(run_delays(table, run), core::Error);
}

TEST(RotateVisibilities, TurnsByTheDifferenceOfDelays) {
  const std::vector<double> delay{1e-9, -2e-9, 5e-9}, channel_hz{1e8, 1.5e8};
  std::vector<std::complex<float>> v(2 * 6, {1, 1});
  const core::View<std::complex<float>, 2> view(v.data(), {2, 6});
  pipeline::rotate_visibilities(delay, channel_hz, view);
  for (std::size_t c = 0; c < 2; ++c)
    for (std::size_t i = 0; i < 3; ++i)
      for (std::size_t j = 0; j <= i; ++j) {
        const auto expected =
            std::complex<double>(1, 1) *
            std::polar(1.0, -2 * std::numbers::pi * channel_hz[c] * (delay[i] - delay[j]));
        const std::complex<double> found(v[c * 6 + core::baseline_index(i, j)]);
        EXPECT_LT(std::abs(found - expected), 1e-6);
      }
  EXPECT_THROW(pipeline::rotate_visibilities({1e-9}, channel_hz, view), core::Error);
}

struct TrackCase {
  bool real, lower;
};

class Tracking : public testing::TestWithParam<TrackCase> {};

// A source simulated at a place and tracked there through the filter bank: no phase is left in any
// channel of any baseline. Antennas kilometres apart, so that the whole samples matter.
TEST_P(Tracking, LeavesNoPhase) {
  const TrackCase& c = GetParam();
  const auto array = array_at({{0, 0, 0}, {2430, -617, 21}, {-3888, 1904, -15}}, "x");
  auto scene = formats::scene::parse_scene(R"(
start = "2024-03-20T12:34:56.789"
centre_hz = 408e6
noise_rms = 0
[[source]]
ra_deg = 130.0
dec_deg = -47.0
flux = 1
)",
                                           "test");
  scene.lower_sideband = c.lower;
  const tests::ScratchFolder folder;
  pipeline::SimulateConfig config;
  config.output = folder / "v.dada";
  config.real = c.real;
  config.bits = 16;
  config.duration_s = 0.2;
  config.seed = tests::seed();
  pipeline::simulate_voltages(config, array, scene);
  const auto voltages = tests::read_dada(config.output, 3, 16, c.real);

  core::VoltageDescription description;
  description.format = c.real ? core::kF32 : core::kCf32;
  description.rate_hz = {c.real ? 2560000 : 1280000, 1};
  description.centre_hz = scene.centre_hz;
  description.bandwidth_hz = c.lower ? -1.28e6 : 1.28e6;
  stages::channelize::Config bank;
  bank.inputs = 3;
  bank.channels = 64;
  bank.input = description.format;
  bank.lower_sideband = c.lower;
  bank.output = stages::channelize::Output::spectra_float;
  const auto device = device::open(device::parse_selection("cpu"), {.threads = 1});
  const auto queue = device->make_queue();

  // Output sample 0 is sample `margin` of the file, so that every shifted sample exists.
  constexpr std::size_t margin = 64;
  const std::size_t count = voltages.inputs[0].size() - 2 * margin;
  bank.max_samples = count;
  const auto plan = stages::channelize::make_plan(bank, device);
  const std::size_t spectra = plan->spectra(0, count);
  const auto table =
      delays::track(array, "test", {130.0, -47.0}, scene.start, 1, {.max_error_s = 1e-14});
  SpectraRun run;
  run.start = core::advance(scene.start, margin, description.rate_hz);
  run.rate_hz = description.rate_hz;
  run.hop_samples = bank.hop_samples();
  run.span_samples = bank.frame_samples() * bank.taps;
  run.spectra = spectra;
  run.baseband_zero_hz = pipeline::baseband_zero_hz(description);
  const auto correction = run_delays(table, run);
  EXPECT_GT(std::abs(correction.whole_samples[2]), 3) << "whole samples must matter here";

  const std::size_t components = c.real ? 1 : 2;
  const device::Buffer samples(3 * count * components * sizeof(float));
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t t = 0; t < count; ++t) {
      const auto from = static_cast<std::int64_t>(t + margin) - correction.whole_samples[i];
      const auto x = voltages.inputs[i][static_cast<std::size_t>(from)];
      float* out = samples.as<float>() + (i * count + t) * components;
      out[0] = static_cast<float>(x.real());
      if (!c.real) out[1] = static_cast<float>(x.imag());
    }
  const device::Buffer out(3 * spectra * bank.channels * sizeof(std::complex<float>));
  stages::channelize::OutputViews views;
  const core::View<std::complex<float>, 3> values(out.as<std::complex<float>>(),
                                                  {3, spectra, bank.channels});
  views.samples = values;
  stages::channelize::Input input;
  input.samples = samples.data();
  input.row_stride_bytes = count * components * sizeof(float);
  input.count = count;
  input.phases = correction.phases;
  const auto state = plan->make_state(*queue);
  ASSERT_EQ(plan->execute(*queue, *state, input, views), spectra);

  for (const auto& [i, j] : {std::pair<std::size_t, std::size_t>{1, 0}, {2, 0}, {2, 1}})
    for (std::size_t k = 2; k + 1 < bank.channels; ++k) {
      std::complex<double> sum = 0, power_i = 0, power_j = 0;
      for (std::size_t s = 0; s < spectra; ++s) {
        const std::complex<double> a(values(i, s, k)), b(values(j, s, k));
        sum += a * std::conj(b);
        power_i += std::norm(a);
        power_j += std::norm(b);
      }
      EXPECT_LT(std::abs(std::arg(sum)) * kTrackDeg, 0.2) << i << "-" << j << " channel " << k;
      EXPECT_GT(std::abs(sum) / std::sqrt(power_i.real() * power_j.real()), 0.98)
          << i << "-" << j << " channel " << k;
    }
}

INSTANTIATE_TEST_SUITE_P(AllSampling, Tracking,
                         testing::Values(TrackCase{false, false}, TrackCase{false, true},
                                         TrackCase{true, false}, TrackCase{true, true}));

}  // namespace
}  // namespace tautline

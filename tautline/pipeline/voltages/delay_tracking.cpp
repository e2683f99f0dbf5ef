#include "tautline/pipeline/voltages/delay_tracking.h"

#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "tautline/core/baseline.h"
#include "tautline/core/error.h"

namespace tautline::pipeline {

namespace {

namespace delays = formats::delays;
using stages::channelize::PhaseModel;

constexpr double kTurn = 2 * std::numbers::pi;

// The residual after n whole samples, in samples; delays of seconds keep 1e-9 of a sample at GHz
// rates in long double.
double residual_samples(double delay_s, std::int64_t whole, const core::Rational& rate_hz) {
  const long double samples = static_cast<long double>(delay_s) *
                              static_cast<long double>(rate_hz.numerator) /
                              static_cast<long double>(rate_hz.denominator);
  return static_cast<double>(samples - static_cast<long double>(whole));
}

std::int64_t middle_of_spectrum_twice(const SpectraRun& run, std::uint64_t spectrum) {
  return static_cast<std::int64_t>(2 * spectrum * run.hop_samples + run.span_samples);
}

}  // namespace

RunDelays run_delays(const delays::Table& table, const SpectraRun& run) {
  if (run.spectra == 0) throw core::Error(core::ErrorKind::config, "spectra", "0", "1 or more");
  const auto at = [&](std::int64_t twice_samples) {
    return core::advance_half(run.start, twice_samples, run.rate_hz);
  };
  const std::int64_t first = middle_of_spectrum_twice(run, 0);
  const std::int64_t last = middle_of_spectrum_twice(run, run.spectra - 1);
  const core::Instant first_time = at(first), last_time = at(last), middle = at((first + last) / 2);
  const double steps = static_cast<double>(run.spectra - 1);
  const double hop_s = static_cast<double>(run.hop_samples) / run.rate_hz.value();

  RunDelays result;
  for (const delays::Model& model : table.inputs) {
    const delays::Delay begin = delays::evaluate(model, first_time);
    // The change is taken from the rate where there is one spectrum only.
    const double step_s =
        run.spectra == 1 ? begin.delay_rate * hop_s
                         : (delays::evaluate(model, last_time).delay_s - begin.delay_s) / steps;
    const double middle_s = delays::evaluate(model, middle).delay_s;
    const auto whole =
        static_cast<std::int64_t>(std::llround(residual_samples(middle_s, 0, run.rate_hz)));
    PhaseModel phase;
    phase.phase_rad = -kTurn * delays::phase_turns(run.baseband_zero_hz, begin.delay_s);
    phase.phase_step_rad = -kTurn * delays::phase_turns(run.baseband_zero_hz, step_s);
    phase.slope_rad = -kTurn * residual_samples(begin.delay_s, whole, run.rate_hz);
    phase.slope_step_rad = -kTurn * residual_samples(step_s, 0, run.rate_hz);
    result.whole_samples.push_back(whole);
    result.phases.push_back(phase);
  }
  return result;
}

std::vector<double> delays_at(const delays::Table& table, const core::Instant& time) {
  std::vector<double> values;
  values.reserve(table.inputs.size());
  for (const delays::Model& model : table.inputs)
    values.push_back(delays::evaluate(model, time).delay_s);
  return values;
}

void rotate_visibilities(const std::vector<double>& delays_s, const std::vector<double>& channel_hz,
                         const core::View<std::complex<float>, 2>& visibilities) {
  const std::size_t inputs = delays_s.size();
  if (visibilities.extent(0) != channel_hz.size() ||
      visibilities.extent(1) != core::baseline_count(inputs))
    throw core::Error(
        core::ErrorKind::config, "visibilities",
        fmt::format("{} channels of {} baselines", visibilities.extent(0), visibilities.extent(1)),
        fmt::format("{} channels and {} inputs' baselines", channel_hz.size(), inputs));
  std::vector<std::complex<double>> rotation(inputs);
  for (std::size_t c = 0; c < channel_hz.size(); ++c) {
    for (std::size_t i = 0; i < inputs; ++i)
      rotation[i] = std::polar(1.0, -kTurn * delays::phase_turns(channel_hz[c], delays_s[i]));
    for (std::size_t i = 0; i < inputs; ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        std::complex<float>& v = visibilities(c, core::baseline_index(i, j));
        v = std::complex<float>(std::complex<double>(v) * rotation[i] * std::conj(rotation[j]));
      }
    }
  }
}

}  // namespace tautline::pipeline

// Sizes, data, tolerance, operations and bytes of detect's cases: for tests and the benchmark.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <random>
#include <vector>

#include "tautline/stages/detect/detect.h"

namespace tautline::stages::detect {

struct Case {
  Config config;
  std::size_t samples = 65536;
  /// In the series beside noise: pulses at random, and impulses in regular succession (0: none).
  std::size_t pulses = 0, impulses_every = 0;
  double snr = 10;  ///< of the pulses

  /// All backends give the same bits: integers are summed exactly, floats in the order of the
  /// definition, and no other float operations are reassociated or fused.
  static constexpr double kTolerance = 0;

  /// A subtraction and a comparison for each boxcar. The other steps are a few operations a sample.
  double operations() const {
    const auto widest = static_cast<std::size_t>(config.max_width_s / config.sample_time_s + 1e-6);
    return 2.0 * static_cast<double>(config.trials * samples) *
           static_cast<double>(boxcar_widths(widest).size());
  }
  /// Bytes of the series, read once.
  double bytes() const { return 4.0 * static_cast<double>(config.trials * samples); }
};

/// A pulse to be added to a series: Gaussian, `width_samples` wide at half maximum, with
/// snr = sqrt(sum of p^2) / sigma and its centre at `time` (the middle of sample 0 is 0).
struct AddedPulse {
  double time = 0, width_samples = 1, snr = 10;
};

inline void add_pulse(std::vector<double>& series, const AddedPulse& pulse, double sigma) {
  const double s = pulse.width_samples / 2.354820045;
  std::vector<double> shape;
  const auto first = static_cast<std::ptrdiff_t>(std::floor(pulse.time - 5 * s - 1));
  const auto last = static_cast<std::ptrdiff_t>(std::ceil(pulse.time + 5 * s + 1));
  double power = 0;
  for (std::ptrdiff_t t = first; t <= last; ++t) {
    const double x = (static_cast<double>(t) - pulse.time) / s;
    shape.push_back(std::exp(-x * x / 2));
    power += shape.back() * shape.back();
  }
  for (std::ptrdiff_t t = first; t <= last; ++t)
    if (t >= 0 && t < static_cast<std::ptrdiff_t>(series.size()))
      series[static_cast<std::size_t>(t)] +=
          shape[static_cast<std::size_t>(t - first)] * sigma * pulse.snr / std::sqrt(power);
}

inline constexpr float kNoiseLevel = 100000.0f, kNoiseSigma = 300.0f;
inline constexpr double kImpulseSamples = 20, kImpulseSnr = 500;

/// What a pulse or an impulse adds to every trial: a rectangle, wider and fainter the further its own
/// trial is away. `steps` has the differences of neighbouring samples of a trial.
inline void add_smeared(std::vector<float>& steps, double trials_away, double time, double width,
                        double snr) {
  constexpr double kDelay = 20;  // samples, of a trial more: 1 pc cm^-3 at Apertif
  const double smeared = width + kDelay * std::abs(trials_away);
  const double level = kNoiseSigma * snr * std::sqrt(width) / smeared;
  if (level * std::sqrt(smeared) < kNoiseSigma) return;
  const double begin = time - kDelay * trials_away / 2 - smeared / 2;
  const auto at = [&](double t) {
    return static_cast<std::size_t>(std::clamp(t, 0.0, static_cast<double>(steps.size() - 1)));
  };
  steps[at(begin)] += static_cast<float>(level);
  steps[at(begin + smeared)] -= static_cast<float>(level);
}

/// The series of a case, [trial][time], from their begin: as many as repeat. Noise about a level, as
/// dedispersed bytes have it, with the case's pulses and with impulses without dispersion.
template <class T>
std::vector<T> make_series(const Case& c) {
  constexpr std::size_t kPatternSamples = std::size_t{1} << 22;
  const std::size_t values = c.config.trials * c.samples;
  std::mt19937_64 random(1);
  std::normal_distribution<float> normal(kNoiseLevel, kNoiseSigma);
  std::vector<float> noise(std::min(values, kPatternSamples));
  std::generate(noise.begin(), noise.end(), [&] { return normal(random); });
  std::vector<T> series(c.pulses + c.impulses_every == 0 ? noise.size() : values);
  std::vector<float> steps(c.samples + 1);
  for (std::size_t first = 0; first < series.size(); first += c.samples) {
    const auto trial = static_cast<double>(first / c.samples);
    std::fill(steps.begin(), steps.end(), 0.0f);
    std::mt19937_64 places(2);  // the same in every trial
    std::uniform_real_distribution<double> uniform(0, 1);
    for (std::size_t p = 0; p < c.pulses; ++p) {
      const double own = uniform(places) * static_cast<double>(c.config.trials);
      const double time = uniform(places) * static_cast<double>(c.samples);
      add_smeared(steps, trial - own, time, 10 + 100 * uniform(places), c.snr);
    }
    for (std::size_t t = c.impulses_every / 2; c.impulses_every > 0 && t < c.samples;
         t += c.impulses_every)
      add_smeared(steps, trial, static_cast<double>(t), kImpulseSamples, kImpulseSnr);
    float level = 0;
    for (std::size_t i = first; i < std::min(first + c.samples, series.size()); ++i) {
      level += steps[i - first];
      series[i] = static_cast<T>(noise[i % noise.size()] + level);
    }
  }
  return series;
}

}  // namespace tautline::stages::detect

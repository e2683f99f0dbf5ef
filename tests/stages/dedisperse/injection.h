// Pulses without noise, written into spectra channel by channel, and what a boxcar search makes of
// their sums. Noise adds up the same along any delays, one sample of each channel, so that S/N
// compares as the sums do.
#pragma once

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "tests/stages/dedisperse/support.h"

namespace tautline::stages::dedisperse {

/// Adds a box of area `area` between two times to samples that begin at 0: to each what of it is in
// that sample.
inline void add_box(std::vector<double>& series, double from, double to, double area) {
  if (to - from < 1e-9) to = from + 1e-9;
  for (double k = std::floor(from); k < to; ++k) {
    if (k < 0 || k >= static_cast<double>(series.size())) continue;
    series[static_cast<std::size_t>(k)] +=
        area * (std::min(to, k + 1) - std::max(from, k)) / (to - from);
  }
}

/// What a channel receives of a pulse at time `at`: boxes of its own width (in steps of a sixth of a
// sample and less) and of the smearing (exactly: it may be many samples), convolved and sampled.
inline void add_pulse(std::vector<double>& series, double at, double own, double smear) {
  const int steps = own > 0 ? 24 : 1;
  for (int a = 0; a < steps; ++a) {
    const double middle = at + own * ((a + 0.5) / steps - 0.5);
    add_box(series, middle - smear / 2, middle + smear / 2, 1.0 / steps);
  }
}

/// S/N of the best boxcar on x[from..to), up to what noise is: the largest sum / sqrt(width).
template <typename T>
double best_boxcar(const T* x, std::size_t from, std::size_t to) {
  double best = 0;
  for (std::size_t first = from; first < to; ++first) {
    double sum = 0;
    for (std::size_t last = first; last < to; ++last) {
      sum += static_cast<double>(x[last]);
      best = std::max(best, sum / std::sqrt(static_cast<double>(last - first + 1)));
    }
  }
  return best;
}

/// Spectra of bytes that hold pulses of one dispersion measure and nothing else: [time][channel].
struct Injection {
  std::vector<std::byte> spectra;
  std::vector<double> times;  // of the pulses' middles, in samples
};

inline constexpr std::size_t kPulses = 8, kSpacing = 128;

inline Injection inject(const Config& config, double dm, std::size_t times,
                        std::mt19937_64& random) {
  const std::size_t channels = config.frequencies_mhz.size();
  const double half_mhz = (config.frequencies_mhz[0] - config.frequencies_mhz[1]) / 2;
  const double dt = config.sample_time_s;
  const std::vector<double>& f = config.frequencies_mhz;
  Injection made{std::vector<std::byte>(times * channels), {}};
  // Anywhere in a sample, and everywhere of it.
  std::uniform_real_distribution<double> within(0, 1.0 / kPulses);
  for (std::size_t k = 0; k < kPulses; ++k)
    made.times.push_back(static_cast<double>(kSpacing * k + kSpacing / 2) +
                         static_cast<double>(k) / kPulses + within(random));
  std::vector<std::vector<double>> rows(channels, std::vector<double>(times, 0.0));
  double highest = 0;
  for (std::size_t c = 0; c < channels; ++c) {
    const double delay = core::dispersion_delay_s(dm, f[c], f[0]) / dt;
    const double smear = core::dispersion_delay_s(dm, f[c] - half_mhz, f[c] + half_mhz) / dt;
    for (const double at : made.times)
      add_pulse(rows[c], at + delay, config.pulse_width_s / dt, smear);
    highest = std::max(highest, *std::max_element(rows[c].begin(), rows[c].end()));
  }
  for (std::size_t c = 0; c < channels; ++c)
    for (std::size_t t = 0; t < times; ++t)
      if (rows[c][t] > 0)
        made.spectra[t * channels + c] =
            static_cast<std::byte>(std::lround(255 * rows[c][t] / highest));
  return made;
}

/// S/N of the best boxcar in any of a trial and its neighbours, added up over pulses.
inline double brightness(const Series& series, const Injection& injected, std::size_t trial) {
  constexpr std::size_t kReach = kSpacing / 2 - 4;
  double sum = 0;
  for (const double at : injected.times) {
    const auto middle = static_cast<std::size_t>(at);
    double best = 0;
    for (std::size_t i = trial == 0 ? 0 : trial - 1; i < std::min(trial + 2, series.trials); ++i)
      best = std::max(best, best_boxcar(series.integers.data() + i * series.times, middle - kReach,
                                        middle + kReach));
    sum += best;
  }
  return sum;
}

}  // namespace tautline::stages::dedisperse

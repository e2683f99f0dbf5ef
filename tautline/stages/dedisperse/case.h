// One description of dedisperse's problems for tests and benchmark: sizes, data, tolerance, work.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "tautline/stages/dedisperse/dedisperse.h"

namespace tautline::stages::dedisperse {

struct Case {
  Config config;

  /// Sums of integers are the same to the bit on every backend. Sums of floats differ from the
  /// reference's doubles by at most this times the sum of the magnitudes: a chain of 4,096
  /// additions of rounding 6e-8 would leave 2.5e-4 if all went one way, and leaves 4e-6 at random.
  static constexpr double kFloatTolerance = 1e-5;

  /// Additions of the plain sum of one time of one beam.
  double operations() const {
    return static_cast<double>(config.dms.size()) *
           static_cast<double>(config.frequencies_mhz.size() - config.ignored_channels.size());
  }
  /// Bytes that have to be read and written for one time of one beam: samples in, trials out.
  double bytes() const {
    return static_cast<double>(config.frequencies_mhz.size()) * config.bits / 8 +
           4 * static_cast<double>(config.dms.size());
  }
};

/// Channel centres from the highest down.
inline std::vector<double> falling_band(double highest_mhz, double step_mhz, std::size_t channels) {
  std::vector<double> f;
  for (std::size_t c = 0; c < channels; ++c)
    f.push_back(highest_mhz - step_mhz * static_cast<double>(c));
  return f;
}

inline std::vector<double> even_dms(double step, std::size_t trials) {
  std::vector<double> dms;
  for (std::size_t i = 0; i < trials; ++i) dms.push_back(step * static_cast<double>(i));
  return dms;
}

/// The dedispersion paper's telescopes: trials of step 0.25 pc cm^-3 from 0.
inline Case apertif(std::size_t trials) {
  Case c;
  const double width = 300.0 / 1024;
  c.config.frequencies_mhz = falling_band(1720 - width / 2, width, 1024);
  c.config.sample_time_s = 1.0 / 20000;
  c.config.dms = even_dms(0.25, trials);
  return c;
}
inline Case lofar(std::size_t trials) {
  Case c;
  c.config.frequencies_mhz = falling_band(145, 0.1875, 32);
  c.config.sample_time_s = 1.0 / 200000;
  c.config.dms = even_dms(0.25, trials);
  return c;
}

/// [beam][time][channel], every code of the case's bits; floats around zero.
inline std::vector<std::byte> make_spectra(const Config& config, std::size_t times,
                                           std::mt19937_64& random) {
  const std::size_t channels = config.frequencies_mhz.size();
  const std::size_t line = (channels * static_cast<std::size_t>(config.bits) + 7) / 8;
  std::vector<std::byte> bytes(config.beams * times * line);
  if (config.bits == 32) {
    std::normal_distribution<float> normal;
    for (std::size_t k = 0; k < bytes.size(); k += 4) {
      const float value = normal(random);
      std::memcpy(bytes.data() + k, &value, 4);
    }
    return bytes;
  }
  for (std::size_t k = 0; k < bytes.size(); k += 8) {
    const std::uint64_t word = random();
    std::memcpy(bytes.data() + k, &word, std::min<std::size_t>(8, bytes.size() - k));
  }
  return bytes;
}

}  // namespace tautline::stages::dedisperse

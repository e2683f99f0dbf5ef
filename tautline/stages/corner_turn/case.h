// Sizes, data, tolerance, operations and bytes of one problem: for tests and benchmarks.
#pragma once

#include <complex>
#include <cstddef>
#include <limits>
#include <random>
#include <vector>

#include "tautline/stages/corner_turn/corner_turn.h"

namespace tautline::stages::corner_turn {

struct Case {
  std::size_t inputs = 1, channels = 1, spectra = 1;
  int output_bits = 8;

  /// A product, a rounding and a comparison have one result each, so all backends agree to the bit.
  static constexpr double kTolerance = 0;

  core::SampleType output_type() const {
    using enum core::SampleType;
    return output_bits == 8 ? ci8 : output_bits == 4 ? ci4 : cf32;
  }
  Config config() const { return {inputs, channels, spectra, output_type()}; }
  std::size_t elements() const { return inputs * channels * spectra; }
  /// Two multiplications, roundings and clippings an element.
  double operations() const {
    return output_bits == 32 ? 0 : 6.0 * static_cast<double>(elements());
  }
  /// Bytes read and written.
  double bytes() const { return static_cast<double>(elements()) * (8 + output_bits / 4.0); }
};

/// Gaussian noise, which the gains of make_gains scale to an rms of 20 or 3 steps; with `dirty`,
/// also values at the edges of rounding and clipping, infinities and NaN.
inline std::vector<std::complex<float>> make_spectra(const Case& c, std::mt19937_64& random,
                                                     bool dirty) {
  std::normal_distribution<float> normal;
  std::vector<std::complex<float>> spectra(c.elements());
  for (auto& x : spectra) x = {normal(random), normal(random)};
  if (!dirty) return spectra;
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const std::vector<float> edges{0.5f,      1.5f,       -2.5f,         7.5f,    -7.5f,
                                 7.499999f, 127.5f,     127.4999f,     -128.0f, 1e30f,
                                 kInfinity, -kInfinity, std::nanf(""), -0.0f,   3e9f};
  for (auto& x : spectra) {
    if (random() % 8 == 0) x.real(edges[random() % edges.size()]);
    if (random() % 8 == 0) x.imag(edges[random() % edges.size()]);
  }
  return spectra;
}

inline std::vector<float> make_gains(const Case& c, std::mt19937_64& random) {
  std::uniform_real_distribution<float> around(0.5f, 1.5f);
  std::vector<float> gains(c.channels * c.inputs);
  for (float& g : gains)
    g = random() % 4 == 0 ? 1.0f : around(random) * (c.output_bits == 8 ? 20 : 3);
  return gains;
}

}  // namespace tautline::stages::corner_turn

// Small simulations for tests: run, read back by hand, correlate by plain sums.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <complex>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <numbers>
#include <string>
#include <vector>

#include "tautline/formats/array_layout.h"
#include "tautline/formats/astronomy.h"
#include "tautline/formats/scene/scene.h"
#include "tautline/pipeline/simulation/simulate_voltages.h"
#include "tests/support/scratch.h"

namespace tautline::tests {

/// Antennas at these places (east, north, up in metres) of a site in Western Australia.
inline formats::ArrayLayout array_at(const std::vector<std::array<double, 3>>& enu_m,
                                     const std::string& feeds = "xy") {
  formats::ArrayLayout array;
  array.name = "test";
  array.latitude_deg = -26.7033;
  array.longitude_deg = 116.6708;
  array.altitude_m = 377;
  const formats::Site site = formats::site_of(array);
  const formats::Vector3 centre = formats::ecef_m(site);
  for (std::size_t a = 0; a < enu_m.size(); ++a) {
    formats::Antenna antenna;
    antenna.number = static_cast<int>(10 + a);
    antenna.name = "A" + std::to_string(a);
    const formats::Vector3 offset = formats::enu_to_ecef(enu_m[a], site);
    for (std::size_t k = 0; k < 3; ++k) antenna.ecef_m[k] = centre[k] + offset[k];
    array.antennas.push_back(antenna);
    for (const char feed : feeds) array.inputs.push_back({a, feed});
  }
  return array;
}

/// The contents of a scene's files, in physical order.
struct Voltages {
  bool real = false;
  std::vector<std::vector<std::complex<double>>> inputs;  // [input][time], steps
};

inline std::vector<char> read_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// DADA samples after a header of 4,096 bytes, [time][input].
inline Voltages read_dada(const std::string& path, std::size_t inputs, int bits, bool real) {
  const std::vector<char> bytes = read_bytes(path);
  constexpr std::size_t kHeader = 4096;
  std::vector<double> parts;
  for (std::size_t n = kHeader; n < bytes.size(); n += bits == 16 ? 2 : 1) {
    const auto low = static_cast<unsigned char>(bytes[n]);
    if (bits == 4) {
      parts.push_back(((low & 15) ^ 8) - 8);
      parts.push_back(((low >> 4) ^ 8) - 8);
    } else if (bits == 8) {
      parts.push_back(static_cast<signed char>(low));
    } else {
      const auto high = static_cast<unsigned char>(bytes[n + 1]);
      parts.push_back(static_cast<std::int16_t>(low | high << 8));
    }
  }
  Voltages v;
  v.real = real;
  v.inputs.resize(inputs);
  const std::size_t components = real ? 1 : 2;
  const std::size_t times = parts.size() / components / inputs;
  for (std::size_t t = 0; t < times; ++t)
    for (std::size_t i = 0; i < inputs; ++i) {
      const double* p = parts.data() + (t * inputs + i) * components;
      v.inputs[i].push_back({p[0], real ? 0 : p[1]});
    }
  return v;
}

/// mean x_i conj(x_j) in `channels` channels over samples [first, last): a plain DFT of frames
/// under a Hann window, ascending sky frequency after the conventions of docs/maths/conventions.md.
inline std::vector<std::complex<double>> cross_spectrum(const Voltages& v, std::size_t i,
                                                        std::size_t j, std::size_t channels,
                                                        bool lower, std::size_t first,
                                                        std::size_t last) {
  const std::size_t frame = v.real ? 2 * channels : channels;
  std::vector<std::complex<double>> turns(frame), sum(channels);
  for (std::size_t n = 0; n < frame; ++n)
    turns[n] = std::polar(
        1.0, -2 * std::numbers::pi * static_cast<double>(n) / static_cast<double>(frame));
  std::size_t frames = 0;
  const auto bin = [&](std::size_t input, std::size_t start, std::size_t k) {
    std::complex<double> value = 0;
    for (std::size_t n = 0; n < frame; ++n) {
      const double hann = 1 - std::cos(2 * std::numbers::pi * (static_cast<double>(n) + 0.5) /
                                       static_cast<double>(frame));
      std::complex<double> x = v.inputs[input][start + n];
      if (lower && !v.real) x = std::conj(x);
      value += x * hann * turns[n * k % frame];
    }
    return lower && v.real ? std::conj(value) : value;
  };
  for (std::size_t start = first; start + frame <= last; start += frame, ++frames)
    for (std::size_t c = 0; c < channels; ++c) {
      const std::size_t k =
          v.real ? (lower ? channels - c : c) : (c + channels - channels / 2) % channels;
      sum[c] += bin(i, start, k) * std::conj(bin(j, start, k));
    }
  for (auto& value : sum) value /= static_cast<double>(frames);
  return sum;
}

/// Sky frequency of channel c.
inline double channel_hz(const formats::scene::Scene& scene, bool real, std::size_t channels,
                         std::size_t c) {
  const double width = scene.bandwidth_hz.value() / static_cast<double>(channels);
  const double k = static_cast<double>(c);
  return real ? scene.centre_hz - scene.bandwidth_hz.value() / 2 + k * width
              : scene.centre_hz + (k - std::floor(static_cast<double>(channels) / 2)) * width;
}

inline double degrees_apart(double a_deg, double b_deg) {
  return std::abs(std::remainder(a_deg - b_deg, 360.0));
}

}  // namespace tautline::tests

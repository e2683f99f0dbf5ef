// Filterbanks in memory of several files, and the steps of level that they have.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "tautline/pipeline/search/level_steps.h"

namespace tautline::pipeline {

/// Files of the same length in memory, one after the other.
class JoinedFiles final : public formats::FilterbankReader {
 public:
  using Value = std::function<double(std::uint64_t time, std::size_t channel, double noise)>;
  /// `value` makes a sample of normal noise. `bits`: 1, 8, or 32 (floats).
  JoinedFiles(std::size_t channels, std::uint64_t files, std::uint64_t times, int bits,
              std::mt19937_64& random, const Value& value) {
    description_.channels = channels;
    description_.bits = bits;
    description_.delivered = bits == 32 ? formats::Delivered::f32 : formats::Delivered::u8;
    description_.rate_hz = core::make_rational(1000, 1);
    description_.samples = files * times;
    segments_ = {{0, files * times, {}, 0}};
    for (std::uint64_t k = 1; k < files; ++k)
      joins_.push_back({k * times, std::to_string(k - 1), std::to_string(k)});
    std::normal_distribution<double> normal;
    for (std::uint64_t t = 0; t < files * times; ++t)
      for (std::size_t c = 0; c < channels; ++c) {
        const double x = value(t, c, normal(random));
        values_.push_back(
            static_cast<float>(bits == 32  ? x
                               : bits == 1 ? x > 0
                                           : std::clamp(std::round(100 + 6 * x), 0.0, 255.0)));
      }
  }
  void set_band(std::int64_t rate_hz, const std::vector<double>& channel_mhz) {
    description_.rate_hz = core::make_rational(rate_hz, 1);
    description_.channel_mhz = channel_mhz;
  }
  std::size_t read(std::uint64_t first, std::size_t count, std::span<std::byte> to) override {
    if (first >= description_.samples) return 0;
    const std::size_t channels = description_.channels;
    count = std::min<std::size_t>({count, 100, description_.samples - first});
    const auto from = values_.begin() + static_cast<std::ptrdiff_t>(first * channels);
    const auto end = from + static_cast<std::ptrdiff_t>(count * channels);
    if (description_.delivered == formats::Delivered::f32)
      std::memcpy(to.data(), &*from, count * channels * sizeof(float));
    else
      std::transform(from, end, to.begin(), [](float x) { return static_cast<std::byte>(x); });
    return count;
  }

 private:
  std::vector<float> values_;
};

inline std::vector<std::uint64_t> steps_of(JoinedFiles& files, std::uint64_t first = 0,
                                           const std::vector<std::size_t>& left_out = {}) {
  std::vector<std::uint64_t> samples;
  const SampleRange range{first, files.description().samples - first};
  for (const LevelStep& step : find_level_steps(files, {{range, first}}, left_out).steps)
    samples.push_back(step.sample);
  return samples;
}

}  // namespace tautline::pipeline

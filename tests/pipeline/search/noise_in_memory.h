// A filterbank of 8-bit noise in memory: a channel each 10 MHz down from 1,500, a sample each millisecond.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <span>
#include <vector>

#include "tautline/formats/filterbank_reader.h"

namespace tautline::pipeline {

class NoiseInMemory : public formats::FilterbankReader {
 public:
  NoiseInMemory(std::size_t channels, std::uint64_t times, std::mt19937_64& random)
      : bytes(channels * times), most(times) {
    description_.channels = channels;
    for (std::size_t c = 0; c < channels; ++c)
      description_.channel_mhz.push_back(1500 - 10 * static_cast<double>(c));
    description_.fch1_mhz = 1500;
    description_.foff_mhz = -10;
    description_.tsamp_s = 1e-3;
    description_.rate_hz = core::make_rational(1000, 1);
    description_.samples = times;
    segments_ = {{0, times, {}, 0}};
    std::normal_distribution<double> normal(100, 6);
    for (std::byte& value : bytes) value = static_cast<std::byte>(std::lround(normal(random)));
  }
  std::size_t read(std::uint64_t first, std::size_t count, std::span<std::byte> to) override {
    if (first >= description_.samples) return 0;
    count = static_cast<std::size_t>(
        std::min<std::uint64_t>({count, most, description_.samples - first}));
    const std::size_t channels = description_.channels;
    std::memcpy(to.data(), bytes.data() + first * channels, count * channels);
    return count;
  }

  std::vector<std::byte> bytes;  ///< [time][channel]
  std::uint64_t most;            ///< times that a call gives
};

}  // namespace tautline::pipeline

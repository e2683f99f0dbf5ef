// Layouts, data, tolerance and bytes of one problem: for tests and benchmarks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "tautline/stages/unpack/unpack.h"

namespace tautline::stages::unpack {

struct Case {
  std::string name;
  core::SampleFormat format;
  std::size_t channels = 1, antennas = 1, polarisations = 1;
  std::string order = "TFAP";  ///< slowest first
  std::size_t samples = 4096;
  std::size_t gap_bits = 0;     ///< between times (for example a counter)
  std::size_t offset_bits = 0;  ///< before the first sample

  /// Integers are decoded exactly and floats are copied, so all backends agree to the bit.
  static constexpr double kTolerance = 0;

  core::RawLayout layout() const {
    core::RawLayout l;
    l.format = format;
    l.channels = channels;
    l.antennas = antennas;
    l.polarisations = polarisations;
    l.offset_bits = offset_bits;
    auto stride = static_cast<std::size_t>(format.bits_per_sample());
    for (auto letter = order.rbegin(); letter != order.rend(); ++letter) {
      switch (*letter) {
        case 'F':
          l.channel_stride_bits = stride, stride *= channels;
          break;
        case 'A':
          l.antenna_stride_bits = stride, stride *= antennas;
          break;
        case 'P':
          l.polarisation_stride_bits = stride, stride *= polarisations;
          break;
        default:
          l.time_stride_bits = stride + gap_bits;
          stride = (l.time_stride_bits * samples + 7) / 8 * 8;
          break;
      }
    }
    return l;
  }

  Config config() const { return {layout(), samples}; }

  /// Bytes of a block, with gaps.
  std::size_t block_bytes() const {
    const core::RawLayout l = layout();
    return (l.offset_bits + (samples - 1) * l.time_stride_bits +
            (channels - 1) * l.channel_stride_bits + (antennas - 1) * l.antenna_stride_bits +
            (polarisations - 1) * l.polarisation_stride_bits +
            static_cast<std::size_t>(format.bits_per_sample()) + 7) /
           8;
  }
  /// Bytes read and written: the benchmark's measure, since there is hardly any arithmetic.
  double bytes() const {
    const double elements = static_cast<double>(channels * antennas * polarisations * samples);
    return elements * (format.bits_per_sample() + unpacked_format(format).bits_per_sample()) / 8;
  }
};

/// Random bytes; with `dirty` some floats are NaN or infinite.
inline core::RawBlock make_block(const Case& c, std::mt19937_64& random, bool dirty) {
  core::RawBlock block;
  block.layout = c.layout();
  block.samples = c.samples;
  block.bytes.resize(c.block_bytes());
  for (std::byte& b : block.bytes) b = static_cast<std::byte>(random() & 0xff);
  if (!c.format.is_float()) return block;
  if (c.format.bits == 16) {
    // One in 32 random halves is not finite: without `dirty`, exponents are reduced.
    for (std::size_t k = 1; k < block.bytes.size() && !dirty; k += 2)
      block.bytes[k] &= std::byte{0xbf};
    return block;
  }
  for (std::size_t k = 0; k + 4 <= block.bytes.size(); k += 4) {
    float value = static_cast<float>(static_cast<std::int32_t>(random())) * 1e-6f;
    if (dirty && random() % 97 == 0)
      value = random() % 2 ? std::numeric_limits<float>::quiet_NaN()
                           : -std::numeric_limits<float>::infinity();
    std::memcpy(block.bytes.data() + k, &value, sizeof value);
  }
  return block;
}

/// The layouts that instruments use, which the benchmark times and the tests check.
inline std::vector<Case> instrument_cases() {
  using enum core::Encoding;
  return {
      {"MWA 2-byte, 16 inputs", core::kCi8, 1, 8, 2, "TAP", 65536, 16, 16},
      {"MWA 1-byte, 16 inputs", core::kCi4, 1, 8, 2, "TAP", 65536, 16, 16},
      {"64 inputs ci8", core::kCi8, 1, 32, 2, "TAP", 65536},
      {"64 inputs ci4", core::kCi4, 1, 32, 2, "TAP", 65536},
      {"TART, 5 inputs i8", core::kI8, 1, 5, 1, "TA", 65536},
      {"256 inputs ci8, 24 channels", core::kCi8, 24, 128, 2, "TFAP", 512},
      {"GUPPI, 64 channels", core::kCi8, 64, 1, 2, "FTP", 16384},
      {"2 inputs cu8, time fastest", {8, true, offset_binary}, 1, 1, 2, "PT", 1048576},
      {"1 input ci8", core::kCi8, 1, 1, 1, "T", 1048576},
      {"1 input i1", {1, false, twos_complement}, 1, 1, 1, "T", 1048576},
      {"2 inputs u2 (VDIF)", {2, false, offset_binary}, 1, 1, 2, "TP", 1048576},
      {"4 inputs ci16", core::kCi16, 1, 2, 2, "TAP", 262144},
      {"4 inputs cf16, 8 channels", core::kCf16, 8, 2, 2, "FTAP", 16384},
      {"8 inputs cf32", core::kCf32, 1, 4, 2, "TAP", 131072},
  };
}

}  // namespace tautline::stages::unpack

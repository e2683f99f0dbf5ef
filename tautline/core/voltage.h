// The description of a stream of antenna voltages, and the memory layout of its raw blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tautline/core/block_bytes.h"
#include "tautline/core/sample_format.h"
#include "tautline/core/time.h"

namespace tautline::core {

/// A described stream. An input is one antenna and polarisation: input = antenna * polarisations +
/// polarisation. Signs and formulae of frequencies: docs/maths/conventions.md.
struct VoltageDescription {
  SampleFormat format;
  std::size_t antennas = 1;
  std::size_t polarisations = 1;
  std::size_t channels = 1;  ///< 1: not channelized; more: already channelized
  Rational rate_hz;          ///< samples per second of each channel of each input
  Instant start;             ///< leading edge of sample 0
  double centre_hz = 0;      ///< sky frequency of the middle of the band
  double bandwidth_hz = 0;   ///< of the whole band; negative: lower sideband, or descending order
  std::string telescope, instrument, source;
  std::vector<std::string>
      antenna_names;    ///< as the format has them (stations of VDIF); empty: none
  std::string assumed;  ///< assumptions of the reader, in words; empty: none

  std::size_t inputs() const { return antennas * polarisations; }
  bool channelized() const { return channels > 1; }
};

/// The places of samples in a raw block: sample (t, channel, antenna, polarisation) starts
/// offset_bits + t * time + channel * channel + ... bits into the block. Components of a complex
/// sample follow each other, re first, format.bits apart.
struct RawLayout {
  SampleFormat format;
  std::size_t channels = 1, antennas = 1, polarisations = 1;
  std::size_t offset_bits = 0;
  std::size_t time_stride_bits = 0;
  std::size_t channel_stride_bits = 0;
  std::size_t antenna_stride_bits = 0;
  std::size_t polarisation_stride_bits = 0;

  std::size_t inputs() const { return antennas * polarisations; }
  friend bool operator==(const RawLayout&, const RawLayout&) = default;
};

/// A run of samples that were lost, damaged or flagged by their writer.
struct InvalidSpan {
  static constexpr std::size_t kAllInputs = static_cast<std::size_t>(-1);
  std::size_t input = kAllInputs;
  std::size_t first_sample = 0;  ///< counted from the block's first sample
  std::size_t samples = 0;
};

/// A block of a stream as a reader leaves it: bytes that unpack understands. Blocks are reused, so
/// `bytes` keeps its capacity.
struct RawBlock {
  BlockBytes bytes;
  RawLayout layout;
  std::uint64_t first_sample = 0;  ///< since the description's start
  std::size_t samples = 0;
  std::vector<InvalidSpan> invalid;
};

}  // namespace tautline::core

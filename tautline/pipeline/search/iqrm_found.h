// The record of the channels that time-dependent masks (IQRM) masked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <vector>

namespace tautline::pipeline {

/// Channels that have one mask for a while. Samples count as in the beam's file, gaps among them.
struct MaskedWindow {
  std::size_t beam = 0;
  std::uint64_t first_sample = 0, samples = 0;
  std::vector<std::uint32_t> channels;
};

/// The values masked in the first pass over each part.
struct IqrmFound {
  std::uint64_t windows = 0;            ///< that were looked at
  std::uint64_t samples = 0;            ///< times in them
  std::uint64_t masked = 0;             ///< times x channels that were replaced
  std::vector<std::uint64_t> channels;  ///< [channel] times that were replaced
  std::vector<MaskedWindow> list;       ///< by beam and time; ends when it names kListed channels
  static constexpr std::size_t kListed = 10'000'000;

  /// {windows, samples, masked_samples, channels: [{channel, samples}]}
  nlohmann::ordered_json record() const;
  /// Of the samples that were looked at, [channel], 0 to 1.
  std::vector<double> shares() const;
};

}  // namespace tautline::pipeline

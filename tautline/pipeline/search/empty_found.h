// The empty stretches and channels that a run over filterbanks found, and their record.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "tautline/pipeline/search/sample_range.h"

namespace tautline::pipeline {

/// Empty times of a beam; `sample` counts as in the beam's file, gaps among them.
struct EmptyTimes {
  std::size_t beam = 0;
  std::uint64_t first_sample = 0, samples = 0;
};

/// Noise in the place of a channel for long; `first_sample` as its reader counts.
struct LongStop {
  std::size_t beam = 0, channel = 0;
  std::uint64_t first_sample = 0, samples = 0;
};

/// What would hold nothing, but is data, because the configuration says so.
struct KeptAsData {
  std::uint64_t stretches = 0, samples = 0;  ///< of equal spectra, and their times
  std::vector<EmptyTimes> list;              ///< the first ones
  std::size_t channels = 0;                  ///< that never change; of beams the most
};

/// The empty stretches found in the first pass over each part.
struct EmptyFound {
  std::uint64_t samples = 0, stretches = 0;  ///< times without data
  std::uint64_t filled = 0;                  ///< of the stretches; the others are left out, as gaps
  std::uint64_t told = 0;                    ///< of the stretches: by the record of a series
  std::uint64_t values = 0;                  ///< times x channels of channels that stopped
  std::uint64_t noise_samples = 0;      ///< times at which noise took the place of some of them
  std::vector<std::uint64_t> channels;  ///< [channel] of each channel, all beams together
  std::uint64_t not_finite = 0;         ///< times x channels that were NaN or infinite in both
  std::uint64_t single_not_finite = 0;  ///< others, in whose place the channel's last value came
  std::vector<std::uint64_t> not_finite_channels;  ///< [channel] of these
  std::vector<std::uint64_t> clipped;  ///< [channel] at the largest value for long, kept as data
  std::vector<EmptyTimes> list;        ///< the first kListed stretches
  std::vector<EmptyTimes> mostly;      ///< the first kListed at which most channels stopped
  std::vector<LongStop> long_stops;    ///< the first LongStops::kMost
  std::uint64_t kept = 0;  ///< stretches of equal spectra that are data, as clipped pulses are
  EmptyTimes first_kept;
  KeptAsData kept_as_data;
  /// Beside empty stretches: spectra that equal the one before, and those compared; 0 where noise has such, too.
  std::uint64_t repeated = 0, compared = 0;
  static constexpr std::size_t kListed = 100'000;

  /// Stretches that the record of a series tells of, all of which are left out, or kept as data.
  void add_told(std::size_t beam, std::span<const SampleRange> times, bool as_data);
};

/// The first `most` stretches without data: {beam, first_sample, samples}.
nlohmann::ordered_json empty_stretches(const EmptyFound& found, std::size_t most = 1000);
/// Channels that stopped for a while: {channel, samples}.
nlohmann::ordered_json empty_channels(const EmptyFound& found);
/// Channels that were NaN or infinite for a while: {channel, samples}.
nlohmann::ordered_json not_finite_channels(const EmptyFound& found);
/// "channel 5 for 2000 samples, channel 7 for 19000 samples ..."; empty for none. `samples`: [channel].
std::string channels_text(const std::vector<std::uint64_t>& samples, bool longest_first = false);
/// How many values are at the largest value for long, and are data; empty for none.
std::string clipped_text(const EmptyFound& found);
/// What became of `all` values that were not finite, and which channels had the most of those in a row; empty for none.
std::string not_finite_text(const EmptyFound& found, std::uint64_t all);

}  // namespace tautline::pipeline

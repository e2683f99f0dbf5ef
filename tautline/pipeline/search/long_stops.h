// Channels in whose place noise came for long, and the parts of the band that stopped together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tautline/pipeline/filled_values.h"
#include "tautline/pipeline/search/channel_substitutes.h"

namespace tautline::pipeline {

/// Noise in the place of channels, piece by piece: the stretches of it that are long.
class LongStops {
 public:
  static constexpr std::uint64_t kLeast = kMeanSamples;
  static constexpr std::size_t kMost = 100'000;  ///< are kept, the first ones

  explicit LongStops(std::size_t channels) : open_(channels) {}

  /// Runs of one channel come in order of time. One of all channels goes on with what stopped before it.
  void add(std::span<const FilledRun> runs);
  /// Nothing goes on: the stretches of kLeast samples or more since the last call.
  std::vector<FilledRun> take();

 private:
  void close(FilledRun& run);

  std::vector<FilledRun> open_;  // [channel]
  std::vector<FilledRun> long_;
};

/// Channels that stopped at about the same time, and came back so.
struct StoppedBand {
  std::vector<std::size_t> channels;  ///< in order
  std::uint64_t first = 0, end = 0;   ///< from the first one's stop to the last one's end
};

/// Of stops of `least` samples or more, those whose begins and ends lie within half of `least`, where these are more than
/// a sixteenth of `counting` channels; in order of time.
std::vector<StoppedBand> stopped_bands(std::vector<FilledRun> stops, std::uint64_t least,
                                       std::size_t counting);

/// "0:5,34": as `ignored_channels` has them. Ranges go on across channels of `left_out`.
std::string channel_ranges(std::span<const std::size_t> channels,
                           std::span<const std::size_t> left_out);

/// The warning of a band that stopped: how to search its times. `counting`: channels that are not left out.
std::string stopped_band_text(const StoppedBand& band, double rate_hz,
                              std::span<const std::size_t> left_out, std::size_t counting);

}  // namespace tautline::pipeline

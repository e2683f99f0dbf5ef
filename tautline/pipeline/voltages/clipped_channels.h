// The channels in which rounding to few bits clipped so many values that their power is wrong, in words.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace tautline::pipeline {

struct ClippedChannel {
  std::size_t channel = 0;  ///< of the stream
  std::size_t input = 0;
  double share = 0;  ///< of the components that were looked at
};

/// Of a run that rounded voltages.
struct ClippedChannels {
  int bits = 0;              ///< of the rounded values; 0: none were rounded
  std::size_t channels = 0;  ///< of the spectra
  double part = 1;           ///< of the spectra, that was looked at
  bool correlates = false;   ///< `gains` can be chosen, and measured again at integrations' edges
  bool follows = false;      ///< they are measured again and again
  std::vector<ClippedChannel> found = {};

  /// The warning; empty where no channel was clipped.
  std::string text(const std::vector<std::string>& input_names) const;
  /// {channel, input, share} of the first `most`.
  nlohmann::ordered_json json(std::size_t most) const;
};

}  // namespace tautline::pipeline

// The visibilities that a correlator writes: a range of channels, averages of channels and times, autocorrelations
// alone.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>

#include "tautline/core/fields.h"
#include "tautline/pipeline/voltages/channel_range.h"

namespace tautline::pipeline {

struct Reduction {
  /// First and last of the stream's channels that are correlated, from 0, both included; none: all.
  std::optional<std::pair<std::size_t, std::size_t>> channel_range = std::nullopt;
  std::size_t average_channels = 1;  ///< neighbouring channels that become one
  std::size_t average_time = 1;      ///< integrations that become one
  bool autos_only = false;           ///< no products of two antennas

  /// Whether there is work after correlation.
  bool after_correlation() const { return average_channels > 1 || average_time > 1 || autos_only; }
};
const core::Fields<Reduction>& fields(const Reduction&);

/// Throws Error(config) where the stream does not have the range.
ChannelRange kept_channels(const Reduction& reduction, std::size_t stream_channels);

}  // namespace tautline::pipeline

#include "tautline/pipeline/voltages/frequencies.h"

#include <cmath>
#include <set>

namespace tautline::pipeline {

std::vector<double> channel_frequencies_hz(const core::VoltageDescription& description,
                                           std::size_t channels) {
  // Long double makes the sums so exact that the conversion to double is the only rounding.
  const long double centre = description.centre_hz;
  const long double bandwidth = description.bandwidth_hz;
  const bool channelized = description.channelized();
  const auto count = static_cast<long double>(channels);
  const std::size_t fine = channels / description.channels;
  std::vector<double> frequencies(channels);
  for (std::size_t n = 0; n < frequencies.size(); ++n) {
    const auto k = static_cast<long double>(n);
    if (channelized && fine > 1) {
      // Channels are 1/C of the band apart everywhere: the highest fine channel of one coarse channel is next to the
      // lowest of another.
      const auto coarse = static_cast<long double>(description.channels);
      const auto below =
          (coarse - 1) * static_cast<long double>(fine) + static_cast<long double>(fine / 2 * 2);
      frequencies[n] =
          static_cast<double>(centre + (2 * k - below) * std::fabs(bandwidth) / (2 * count));
    } else if (channelized) {
      frequencies[n] =
          static_cast<double>(centre + (2 * k - (count - 1)) * bandwidth / (2 * count));
    } else if (description.format.complex) {
      frequencies[n] =
          static_cast<double>(centre + (k - std::floor(count / 2)) * std::fabs(bandwidth) / count);
    } else {
      frequencies[n] =
          static_cast<double>(centre + (2 * k - count) * std::fabs(bandwidth) / (2 * count));
    }
  }
  return frequencies;
}

std::vector<std::size_t> edge_channels(const core::VoltageDescription& description,
                                       std::size_t channels,
                                       const std::vector<std::size_t>& of_input) {
  const std::size_t fine = channels / description.channels;
  std::set<std::size_t> edges;
  for (const std::size_t edge : of_input)
    for (std::size_t k = 0; k <= fine / 2; ++k) edges.insert(edge * fine + k);
  // With an odd number of channels no channel's centre is at the edge; for a single received channel the edge is
  // unknown.
  if (description.format.complex && fine > 1 && fine % 2 == 0)
    for (std::size_t lowest = 0; lowest < channels; lowest += fine) edges.insert(lowest);
  return {edges.begin(), edges.end()};
}

double channel_width_hz(const core::VoltageDescription& description, std::size_t channels) {
  return std::fabs(description.bandwidth_hz) / static_cast<double>(channels);
}

double baseband_zero_hz(const core::VoltageDescription& description) {
  // The bandwidth is negative in a lower sideband.
  return description.format.complex ? description.centre_hz
                                    : description.centre_hz - description.bandwidth_hz / 2;
}

}  // namespace tautline::pipeline

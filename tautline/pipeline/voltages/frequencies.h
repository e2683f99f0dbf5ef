// Sky frequencies of channels, from a stream's description of its band.
#pragma once

#include <cstddef>
#include <vector>

#include "tautline/core/voltage.h"

namespace tautline::pipeline {

/// Centre of each output channel in Hz, each rounded once:
///   real samples, C channels       centre - |BW|/2 + k |BW|/C
///   complex samples, C channels    centre + (k - floor(C/2)) |BW|/C
///   already channelized, N         centre + (k - (N-1)/2) BW/N   (descending when BW < 0)
///   F inside each of N, C = N F    centre + (j - (N-1)/2) |BW|/N + (k - floor(F/2)) |BW|/C,
///                                  channel j F + k, k < F
std::vector<double> channel_frequencies_hz(const core::VoltageDescription& description,
                                           std::size_t channels);

/// Those of `channels` whose centre is half the sampling rate below the middle of a band of complex samples: they
/// contain the lower edge of the band and, aliased, the upper one. Of fine channels the lowest in each coarse one. None
/// for real samples and an odd number of channels. Where the input's channels are kept, `of_input` are its edge
/// channels; of fine channels inside one of these, all up to the middle one contain frequencies beyond the edge.
/// Ascending.
std::vector<std::size_t> edge_channels(const core::VoltageDescription& description,
                                       std::size_t channels,
                                       const std::vector<std::size_t>& of_input);

/// Distance between channels, positive.
double channel_width_hz(const core::VoltageDescription& description, std::size_t channels);

/// The sky frequency at zero of the baseband: the band's centre for complex samples, its lower edge for real ones, its
/// upper edge for real ones of a lower sideband.
double baseband_zero_hz(const core::VoltageDescription& description);

}  // namespace tautline::pipeline

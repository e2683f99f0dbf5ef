// Finds bad channels from the statistics of the data.
#pragma once

#include <cstddef>
#include <vector>

#include "tautline/formats/filterbank_reader.h"
#include "tautline/pipeline/search/sample_range.h"

namespace tautline::pipeline {

struct ChannelFlagLimits {
  double sigma = 5;  ///< robust standard deviations from the band's course
  /// Channels on either side, the mean of whose two medians is that course; fewer near an edge.
  std::size_t neighbours = 8;
  std::size_t windows = 64;  ///< parts of the input that are looked at
  std::size_t window_samples = 1024;
};

struct ChannelFlags {
  std::vector<std::size_t> bad;  ///< in the file's order, ascending
  std::size_t dead = 0;          ///< that never change
  std::size_t level = 0;         ///< whose mean or noise stands out of the bandpass
  std::size_t kurtosis = 0;      ///< whose spectral kurtosis stands out
};

/// Of each channel: the median over windows of its mean and of its standard deviation, and the mean
/// over windows of its spectral kurtosis (M + 1) / (M - 1) (M sum x^2 / (sum x)^2 - 1), M the
/// samples of a window. In theory that is one over the number of power samples added into one of
/// the file; here the neighbouring channels tell. Samples that are not finite are left out, and windows of which a
/// channel has less than half.
struct ChannelStatistics {
  std::vector<double> mean, deviation, kurtosis;
};

/// Without empty stretches and channels that stop, unless `keep_constant`. `ignored` channels do not count in these.
ChannelStatistics measure_channels(formats::FilterbankReader& reader, const SampleRange& range,
                                   const std::vector<std::size_t>& ignored, bool keep_constant,
                                   const ChannelFlagLimits& limits);

/// Dead channels, and those whose statistic differs from the course of the band around them by
/// more than `sigma` times 1.4826 MAD of such differences. `ignored` channels take no part.
ChannelFlags flag_channels(const ChannelStatistics& statistics,
                           const std::vector<std::size_t>& ignored,
                           const ChannelFlagLimits& limits);

}  // namespace tautline::pipeline

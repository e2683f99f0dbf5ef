#include "tautline/pipeline/search/channel_flags.h"

#include <algorithm>
#include <cmath>

namespace tautline::pipeline {

namespace {

constexpr double kSigmaPerMad = 1.4826;
constexpr std::size_t kLeastNeighbours = 2;

double median_of(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

struct Sums {
  double count = 0, sum = 0, squares = 0;
};

template <class Sample>
void add_window(const Sample* spectra, std::size_t samples, std::vector<Sums>& sums) {
  for (std::size_t t = 0; t < samples; ++t)
    for (Sums& s : sums) {
      const auto x = static_cast<double>(*spectra++);
      if (!std::isfinite(x)) continue;
      s.count += 1;
      s.sum += x;
      s.squares += x * x;
    }
}

std::vector<Sums> measure_window(const formats::FilterbankDescription& description,
                                 const std::vector<std::byte>& bytes, std::size_t samples) {
  std::vector<Sums> sums(description.channels);
  formats::with_samples(description.delivered, bytes.data(),
                        [&](const auto* spectra) { add_window(spectra, samples, sums); });
  return sums;
}

// Channels of `values` that stand out of the running median of those taken part in.
std::vector<bool> outliers(const std::vector<double>& values, const std::vector<bool>& used,
                           const ChannelFlagLimits& limits) {
  const std::size_t channels = values.size();
  std::vector<double> difference(channels, 0), magnitudes;
  for (std::size_t c = 0; c < channels; ++c) {
    if (!used[c]) continue;
    // As far to one side as to the other, and each for itself, so that a slope does not count; a
    // little of one side at the edges.
    const std::size_t to_edge = std::min(c, channels - 1 - c);
    const std::size_t reach = std::max(kLeastNeighbours, std::min(limits.neighbours, to_edge));
    std::vector<double> below, above;
    for (std::size_t k = 1; k <= reach; ++k) {
      if (k <= c && used[c - k]) below.push_back(values[c - k]);
      if (c + k < channels && used[c + k]) above.push_back(values[c + k]);
    }
    if (below.empty() && above.empty()) continue;
    if (below.empty()) below = above;
    if (above.empty()) above = below;
    difference[c] = values[c] - (median_of(below) + median_of(above)) / 2;
    magnitudes.push_back(std::fabs(difference[c]));
  }
  const double limit = limits.sigma * kSigmaPerMad * median_of(magnitudes);
  std::vector<bool> out(channels, false);
  for (std::size_t c = 0; c < channels; ++c)
    out[c] = used[c] && limit > 0 && std::fabs(difference[c]) > limit;
  return out;
}

}  // namespace

ChannelStatistics measure_channels(formats::FilterbankReader& reader, const SampleRange& range,
                                   const ChannelFlagLimits& limits) {
  const formats::FilterbankDescription& description = reader.description();
  const std::uint64_t length = std::min<std::uint64_t>(limits.window_samples, range.count);
  const std::uint64_t windows = std::min<std::uint64_t>(limits.windows, range.count / length);
  std::vector<std::vector<double>> means(description.channels), deviations(description.channels);
  ChannelStatistics statistics;
  statistics.kurtosis.resize(description.channels);
  std::vector<std::byte> bytes(static_cast<std::size_t>(length) * description.sample_bytes());
  for (std::uint64_t w = 0; w < windows; ++w) {
    const std::uint64_t first =
        range.first + (windows > 1 ? w * (range.count - length) / (windows - 1) : 0);
    const std::size_t got = reader.read(first, static_cast<std::size_t>(length), bytes);
    const std::vector<Sums> sums = measure_window(description, bytes, got);
    for (std::size_t c = 0; c < description.channels; ++c) {
      const Sums& s = sums[c];
      if (s.count < 2) continue;
      const double mean = s.sum / s.count;
      const double variance = std::max(0.0, s.squares / s.count - mean * mean);
      means[c].push_back(mean);
      deviations[c].push_back(std::sqrt(variance));
      if (mean != 0)
        statistics.kurtosis[c] +=
            (s.count + 1) / (s.count - 1) * variance / (mean * mean) / static_cast<double>(windows);
    }
  }
  for (std::size_t c = 0; c < description.channels; ++c) {
    statistics.mean.push_back(median_of(means[c]));
    statistics.deviation.push_back(median_of(deviations[c]));
  }
  return statistics;
}

ChannelFlags flag_channels(const ChannelStatistics& statistics,
                           const std::vector<std::size_t>& ignored,
                           const ChannelFlagLimits& limits) {
  const std::size_t channels = statistics.mean.size();
  std::vector<bool> used(channels, true), bad(channels, false);
  for (const std::size_t c : ignored)
    if (c < channels) used[c] = false;
  ChannelFlags flags;
  for (std::size_t c = 0; c < channels; ++c) {
    if (!used[c] || statistics.deviation[c] > 0) continue;
    ++flags.dead;
    bad[c] = true;
    used[c] = false;
  }
  const auto by_mean = outliers(statistics.mean, used, limits);
  const auto by_deviation = outliers(statistics.deviation, used, limits);
  const auto by_kurtosis = outliers(statistics.kurtosis, used, limits);
  for (std::size_t c = 0; c < channels; ++c) {
    if (by_mean[c] || by_deviation[c])
      ++flags.level;
    else if (by_kurtosis[c])
      ++flags.kurtosis;
    bad[c] = bad[c] || by_mean[c] || by_deviation[c] || by_kurtosis[c];
    if (bad[c]) flags.bad.push_back(c);
  }
  return flags;
}

}  // namespace tautline::pipeline

#include "tautline/pipeline/search/channel_flags.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "tautline/pipeline/search/empty_stretches.h"

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

  void add(double x, double sign) {
    if (!std::isfinite(x)) return;
    count += sign;
    sum += sign * x;
    squares += sign * x * x;
  }
};

// Spectra of a block, from the first to before the end.
struct Times {
  std::size_t first = 0, end = 0;
};

void add_times(const formats::FilterbankDescription& description, std::span<const std::byte> block,
               Times times, std::vector<Sums>& sums) {
  formats::with_samples(description.delivered, block.data(), [&](const auto* spectra) {
    const std::size_t channels = sums.size();
    for (std::size_t t = times.first; t < times.end; ++t)
      for (std::size_t c = 0; c < channels; ++c)
        sums[c].add(static_cast<double>(spectra[t * channels + c]), 1);
  });
}

void take_off(const formats::FilterbankDescription& description, std::span<const std::byte> block,
              Times times, std::size_t channel, Sums& sums) {
  formats::with_samples(description.delivered, block.data(), [&](const auto* spectra) {
    for (std::size_t t = times.first; t < times.end; ++t)
      sums.add(static_cast<double>(spectra[t * description.channels + channel]), -1);
  });
}

// Without empty stretches, and of each channel without those in which it stops. `block`: spectra of `range`.
void add_changing(formats::FilterbankReader& reader, const SampleRange& range,
                  const std::vector<std::size_t>& ignored, std::span<std::byte> block,
                  const Times& window, std::vector<Sums>& sums) {
  const formats::FilterbankDescription& description = reader.description();
  const std::size_t bytes = description.sample_bytes(), got = block.size() / bytes;
  const auto inside = [&](std::uint64_t first, std::uint64_t end) {
    return Times{std::max(window.first, static_cast<std::size_t>(first)),
                 std::min(window.end, static_cast<std::size_t>(end))};
  };
  EmptyStretches empty(reader, range, ignored);
  for (std::size_t done = 0; done < got;) {
    const auto stretch = empty.find(block, 0, done);
    const auto stop =
        static_cast<std::size_t>(stretch ? std::min<std::uint64_t>(got, stretch->first) : got);
    empty.mask_channels(block.subspan(done * bytes, (stop - done) * bytes), done, !stretch);
    add_times(description, block, inside(done, stop), sums);
    for (const FilledRun& run : empty.replaced())
      take_off(description, block, inside(run.first, run.end), run.channel, sums[run.channel]);
    done = static_cast<std::size_t>(stretch ? stretch->first + stretch->count : got);
  }
}

std::vector<Sums> measure_window(formats::FilterbankReader& reader, const SampleRange& range,
                                 const std::vector<std::size_t>& ignored, bool keep_constant,
                                 const SampleRange& window) {
  const formats::FilterbankDescription& description = reader.description();
  // A window may have too few samples of a stretch to tell.
  const std::uint64_t margin = keep_constant ? 0 : spectra_ahead(description, ignored);
  const std::uint64_t low = window.first - std::min(window.first - range.first, margin);
  const std::uint64_t high =
      std::min(range.first + range.count, window.first + window.count + margin);
  const std::size_t sample_bytes = description.sample_bytes();
  std::vector<std::byte> bytes(static_cast<std::size_t>(high - low) * sample_bytes);
  const std::size_t got = reader.read_across(low, static_cast<std::size_t>(high - low), bytes);
  const std::span<std::byte> block = std::span(bytes).first(got * sample_bytes);
  const auto first = static_cast<std::size_t>(window.first - low);
  const Times times{first, std::min(got, first + static_cast<std::size_t>(window.count))};
  std::vector<Sums> sums(description.channels);
  if (keep_constant)
    add_times(description, block, times, sums);
  else
    add_changing(reader, {low, high - low}, ignored, block, times, sums);
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
                                   const std::vector<std::size_t>& ignored, bool keep_constant,
                                   const ChannelFlagLimits& limits) {
  const formats::FilterbankDescription& description = reader.description();
  const std::uint64_t length = std::min<std::uint64_t>(limits.window_samples, range.count);
  const std::uint64_t windows = std::min<std::uint64_t>(limits.windows, range.count / length);
  std::vector<std::vector<double>> means(description.channels), deviations(description.channels);
  ChannelStatistics statistics;
  statistics.kurtosis.resize(description.channels);
  for (std::uint64_t w = 0; w < windows; ++w) {
    const std::uint64_t first =
        range.first + (windows > 1 ? w * (range.count - length) / (windows - 1) : 0);
    const std::vector<Sums> sums =
        measure_window(reader, range, ignored, keep_constant, {first, length});
    for (std::size_t c = 0; c < description.channels; ++c) {
      const Sums& s = sums[c];
      if (s.count < std::max(2.0, static_cast<double>(length) / 2)) continue;
      const double mean = s.sum / s.count;
      const double variance = std::max(0.0, s.squares / s.count - mean * mean);
      means[c].push_back(mean);
      deviations[c].push_back(std::sqrt(variance));
      if (mean != 0)
        statistics.kurtosis[c] += (s.count + 1) / (s.count - 1) * variance / (mean * mean);
    }
  }
  for (std::size_t c = 0; c < description.channels; ++c) {
    if (!means[c].empty()) statistics.kurtosis[c] /= static_cast<double>(means[c].size());
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

#include "tautline/pipeline/search/times_without_data.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace tautline::pipeline {

std::vector<SampleRange> empty_times(const EmptyFound& found, std::size_t beam,
                                     const SampleRange& range) {
  std::vector<SampleRange> times;
  for (const auto* list : {&found.list, &found.mostly})
    for (const EmptyTimes& one : *list)
      if (one.beam == beam && one.first_sample < range.first + range.count &&
          one.first_sample + one.samples > range.first)
        times.push_back({one.first_sample, one.samples});
  return times;
}

std::vector<SampleRange> masked_times(const formats::presto::Mask& mask,
                                      const formats::FilterbankDescription& description,
                                      const std::vector<std::size_t>& ignored_channels,
                                      const SampleRange& range) {
  std::vector<std::uint8_t> used(description.channels, 1);
  for (const std::size_t c : ignored_channels) used[c] = 0;
  const auto all = std::count(used.begin(), used.end(), 1);
  std::vector<SampleRange> times;
  const std::uint64_t end = range.first + range.count;
  for (std::uint64_t at = range.first; at < end;) {
    const std::size_t interval = mask.interval_of(at);
    const std::uint64_t next = interval + 1 < mask.intervals
                                   ? (interval + 1) * std::uint64_t{mask.samples_per_interval}
                                   : end;  // the last one has no end
    const std::vector<std::uint8_t> flags = mask.channel_flags(interval, description);
    std::ptrdiff_t masked = 0;
    for (std::size_t c = 0; c < used.size(); ++c) masked += used[c] != 0 && flags[c] != 0 ? 1 : 0;
    if (2 * masked > all) times.push_back({at, next - at});
    at = next;
  }
  return times;
}

std::vector<std::pair<std::uint64_t, std::uint64_t>> without_gaps(
    const std::vector<std::pair<std::uint64_t, std::uint64_t>>& segments,
    std::span<const FilledRun> gaps, std::uint64_t before) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> left;
  for (auto [from, end] : segments) {
    // The first gap that ends behind the segment's begin.
    auto gap = std::ranges::partition_point(
        gaps, [&](const FilledRun& one) { return one.end <= from + before; });
    for (; gap != gaps.end() && gap->first < end + before; ++gap) {
      const std::uint64_t begin = gap->first - std::min(gap->first, before);
      if (begin > from) left.emplace_back(from, begin);
      from = std::min(end, gap->end - before);
    }
    if (from < end) left.emplace_back(from, end);
  }
  return left;
}

std::vector<std::span<const float>> pieces_of_data(const TrialStretch& trial,
                                                   std::vector<SampleRange> without_data) {
  std::sort(without_data.begin(), without_data.end(),
            [](const SampleRange& a, const SampleRange& b) { return a.first < b.first; });
  const std::uint64_t begin = trial.first_sample, end = begin + trial.series.size();
  std::vector<std::span<const float>> pieces;
  std::uint64_t from = begin;
  // A sample needs the times from its own on to the longest delay behind it.
  const auto end_piece = [&](std::uint64_t time) {
    const std::uint64_t until = std::min(end, time - std::min(time, trial.max_delay));
    if (until > from) pieces.push_back(std::span(trial.series).subspan(from - begin, until - from));
  };
  for (const SampleRange& one : without_data) {
    end_piece(one.first);
    from = std::max(from, one.first + one.count);
  }
  end_piece(end + trial.max_delay);
  return pieces;
}

}  // namespace tautline::pipeline

// The values of a filterbank that stand in for data that did not come.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace tautline::pipeline {

/// Shorter stretches without data are filled with noise, as stopped channels are. Longer ones are gaps: a search leaves
/// them out, and loses the longest delay before each.
inline constexpr std::uint64_t kLeastGap = 128;

/// Samples of a channel that are filled.
struct FilledRun {
  static constexpr std::size_t kAllChannels = SIZE_MAX;
  std::size_t channel = kAllChannels;
  std::uint64_t first = 0, end = 0;
};

/// The latest filled values, as many as kMostBytes hold: one thread adds, others look.
class FilledValues {
 public:
  static constexpr std::size_t kMostBytes = std::size_t{16} << 20;
  /// Of fraction(): a channel that does not count.
  static constexpr std::uint64_t kLeftOut = UINT64_MAX;

  explicit FilledValues(std::size_t channels) : channels_(channels), words_((channels + 63) / 64) {}

  /// Channels that are filled at a sample. A sample at or before the last one replaces all from itself on.
  void add(std::uint64_t sample, std::span<const std::size_t> channels) {
    std::vector<std::uint64_t> bits(words_, 0);
    for (const std::size_t c : channels) bits[c / 64] |= std::uint64_t{1} << c % 64;
    const std::lock_guard lock(mutex_);
    append(sample, sample + 1, bits);
  }
  /// In any order; none begins before the end of what was added earlier.
  void add(std::span<const FilledRun> runs) {
    struct Edge {
      std::uint64_t sample;
      std::size_t channel;
      bool begins;
    };
    std::vector<Edge> edges;
    for (const FilledRun& run : runs) {
      edges.push_back({run.first, run.channel, true});
      edges.push_back({run.end, run.channel, false});
    }
    std::sort(edges.begin(), edges.end(),
              [](const Edge& a, const Edge& b) { return a.sample < b.sample; });
    std::vector<int> open(channels_, 0);  // runs
    std::vector<std::uint64_t> bits(words_, 0);
    const std::vector<std::uint64_t> every(words_, ~std::uint64_t{0});
    int all_open = 0, channels_open = 0;
    const std::lock_guard lock(mutex_);
    add_stretches(runs);
    for (std::size_t k = 0; k < edges.size(); ++k) {
      const Edge& edge = edges[k];
      const int step = edge.begins ? 1 : -1;
      if (edge.channel == FilledRun::kAllChannels) {
        all_open += step;
      } else {
        const int before = open[edge.channel];
        const int runs_now = open[edge.channel] += step;
        if (before == 0 || runs_now == 0) {
          bits[edge.channel / 64] ^= std::uint64_t{1} << edge.channel % 64;
          channels_open += step;
        }
      }
      if (k + 1 == edges.size() || edges[k + 1].sample == edge.sample) continue;
      if (all_open > 0 || channels_open > 0)
        append(edge.sample, edges[k + 1].sample, all_open > 0 ? every : bits);
    }
  }
  /// The latest stretches of runs in which all channels are filled, of kLeastGap samples or more, in order of time.
  std::vector<FilledRun> gaps() const {
    const std::lock_guard lock(mutex_);
    std::vector<FilledRun> gaps(gaps_.begin(), gaps_.end());
    if (!gaps.empty() && gaps.back().end - gaps.back().first < kLeastGap) gaps.pop_back();
    return gaps;
  }
  /// Whether no value of samples [first, end) is filled.
  bool none(std::uint64_t first, std::uint64_t end) const {
    const std::lock_guard lock(mutex_);
    const auto run = after(first);
    return first >= forgotten_ && (run == runs_.end() || run->first >= end);
  }
  /// The fraction of filled values among `width` samples of each channel from first[channel] on. None: too long ago.
  std::optional<double> fraction(std::span<const std::uint64_t> first, std::uint64_t width) const {
    const std::lock_guard lock(mutex_);
    std::uint64_t filled = 0, values = 0;
    for (std::size_t c = 0; c < first.size(); ++c) {
      const std::uint64_t begin = first[c], end = begin + width;
      if (begin == kLeftOut) continue;
      if (begin < forgotten_) return std::nullopt;
      values += width;
      for (auto run = after(begin); run != runs_.end() && run->first < end; ++run)
        if ((run->channels[c / 64] >> c % 64 & 1) != 0)
          filled += std::min(run->end, end) - std::max(run->first, begin);
    }
    return values == 0 ? 0 : static_cast<double>(filled) / static_cast<double>(values);
  }
  /// [channel]: what is filled of samples [first, end), in order of time. None: too long ago.
  std::optional<std::vector<std::vector<FilledRun>>> runs(std::uint64_t first,
                                                          std::uint64_t end) const {
    const std::lock_guard lock(mutex_);
    if (first < forgotten_) return std::nullopt;
    std::vector<std::vector<FilledRun>> all(channels_);
    for (auto run = after(first); run != runs_.end() && run->first < end; ++run) {
      const std::uint64_t begin = std::max(run->first, first), until = std::min(run->end, end);
      for (std::size_t c = 0; c < channels_; ++c) {
        if ((run->channels[c / 64] >> c % 64 & 1) == 0) continue;
        if (!all[c].empty() && all[c].back().end == begin)
          all[c].back().end = until;
        else
          all[c].push_back({c, begin, until});
      }
    }
    return all;
  }

 private:
  struct Run {  // samples whose filled channels are the same
    std::uint64_t first, end;
    std::vector<std::uint64_t> channels;  // a bit for each
  };

  // A stretch comes in pieces.
  void add_stretches(std::span<const FilledRun> runs) {
    std::vector<FilledRun> all;
    for (const FilledRun& run : runs)
      if (run.channel == FilledRun::kAllChannels) all.push_back(run);
    std::sort(all.begin(), all.end(),
              [](const FilledRun& a, const FilledRun& b) { return a.first < b.first; });
    for (const FilledRun& run : all) {
      if (!gaps_.empty() && run.first <= gaps_.back().end) {
        gaps_.back().end = std::max(gaps_.back().end, run.end);
        continue;
      }
      if (!gaps_.empty() && gaps_.back().end - gaps_.back().first < kLeastGap) gaps_.pop_back();
      gaps_.push_back(run);
      if (gaps_.size() > kMostBytes / sizeof(FilledRun)) gaps_.pop_front();
    }
  }

  // The first run that ends behind a sample.
  std::deque<Run>::const_iterator after(std::uint64_t sample) const {
    return std::partition_point(runs_.begin(), runs_.end(),
                                [&](const Run& one) { return one.end <= sample; });
  }
  void append(std::uint64_t first, std::uint64_t end, const std::vector<std::uint64_t>& channels) {
    while (!runs_.empty() && runs_.back().first >= first) runs_.pop_back();
    if (!runs_.empty()) {
      Run& last = runs_.back();
      last.end = std::min(last.end, first);
      if (last.end == first && last.channels == channels) {
        last.end = end;
        return;
      }
    }
    runs_.push_back({first, end, channels});
    const std::size_t run_bytes = sizeof(Run) + words_ * sizeof(std::uint64_t);
    if (runs_.size() <= kMostBytes / run_bytes) return;
    forgotten_ = runs_.front().end;
    runs_.pop_front();
  }

  mutable std::mutex mutex_;
  std::size_t channels_, words_;
  std::deque<Run> runs_;         // in order of time
  std::uint64_t forgotten_ = 0;  // samples before it
  std::deque<FilledRun> gaps_;   // the last one may be shorter
};

}  // namespace tautline::pipeline

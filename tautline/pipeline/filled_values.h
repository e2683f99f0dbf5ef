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

/// The latest filled values, as many as kMostBytes hold: one thread adds, others look.
class FilledValues {
 public:
  static constexpr std::size_t kMostBytes = std::size_t{16} << 20;

  explicit FilledValues(std::size_t channels) : words_((channels + 63) / 64) {}

  /// Channels that are filled at a sample. A sample at or before the last one replaces all from itself on.
  void add(std::uint64_t sample, std::span<const std::size_t> channels) {
    std::vector<std::uint64_t> bits(words_, 0);
    for (const std::size_t c : channels) bits[c / 64] |= std::uint64_t{1} << c % 64;
    const std::lock_guard lock(mutex_);
    while (!runs_.empty() && runs_.back().first >= sample) runs_.pop_back();
    if (!runs_.empty()) {
      Run& last = runs_.back();
      last.end = std::min(last.end, sample);
      if (last.end == sample && last.channels == bits) {
        ++last.end;
        return;
      }
    }
    runs_.push_back({sample, sample + 1, std::move(bits)});
    const std::size_t run_bytes = sizeof(Run) + words_ * sizeof(std::uint64_t);
    if (runs_.size() <= kMostBytes / run_bytes) return;
    forgotten_ = runs_.front().end;
    runs_.pop_front();
  }
  /// The fraction of filled values among `width` samples of each channel from first[channel] on. None: too long ago.
  std::optional<double> fraction(std::span<const std::uint64_t> first, std::uint64_t width) const {
    const std::lock_guard lock(mutex_);
    std::uint64_t filled = 0;
    for (std::size_t c = 0; c < first.size(); ++c) {
      const std::uint64_t begin = first[c], end = begin + width;
      if (begin < forgotten_) return std::nullopt;
      auto run = std::partition_point(runs_.begin(), runs_.end(),
                                      [&](const Run& one) { return one.end <= begin; });
      for (; run != runs_.end() && run->first < end; ++run)
        if ((run->channels[c / 64] >> c % 64 & 1) != 0)
          filled += std::min(run->end, end) - std::max(run->first, begin);
    }
    return static_cast<double>(filled) / static_cast<double>(first.size() * width);
  }

 private:
  struct Run {  // samples whose filled channels are the same
    std::uint64_t first, end;
    std::vector<std::uint64_t> channels;  // a bit for each
  };

  mutable std::mutex mutex_;
  std::size_t words_;
  std::deque<Run> runs_;         // in order of time
  std::uint64_t forgotten_ = 0;  // samples before it
};

}  // namespace tautline::pipeline

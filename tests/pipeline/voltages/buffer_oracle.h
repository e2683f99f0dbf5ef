// The required response of a buffer to the triggers of a BufferStream whose writer keeps up.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "tests/pipeline/voltages/buffer_source.h"

namespace tautline::tests {

class BufferOracle {
 public:
  struct Accepted {
    std::size_t block = 0;            // after which the trigger comes
    std::int64_t first = 0, end = 0;  // wanted
    std::int64_t kept = 0;            // the samples before are forgotten when it comes
  };
  std::vector<Accepted> accepted;
  std::size_t refused = 0, covered = 0;
  std::int64_t longest = 0;  // stretch

  /// Triggers name samples, and margins in whole samples.
  BufferOracle(const BufferStream& stream, std::size_t ring_samples) : stream_(stream) {
    for (std::uint64_t next = 0; next < stream.samples;
         next = static_cast<std::uint64_t>(ends_.back())) {
      if (const auto gap = stream.gaps.find(next); gap != stream.gaps.end()) next += gap->second;
      std::uint64_t end = std::min(next + stream.block_samples, stream.samples);
      if (const auto gap = stream.gaps.upper_bound(next); gap != stream.gaps.end())
        end = std::min(end, gap->first);
      ends_.push_back(static_cast<std::int64_t>(end));
    }
    const std::size_t ring = (ring_samples + stream.block_samples - 1) / stream.block_samples + 1;
    longest = static_cast<std::int64_t>((ring - 1) * stream.block_samples);
    for (const auto& [block, triggers] : stream.triggers)
      for (const pipeline::Trigger& trigger : triggers) look_at(trigger, block, ring);
  }

  std::size_t blocks() const { return ends_.size(); }
  /// First and last + 1 sample of a file; the same where there is none.
  std::pair<std::int64_t, std::int64_t> file_of(const Accepted& one) const {
    std::int64_t first = std::max(one.first, one.kept), end = one.end;
    while (first < end && !is_data(first)) ++first;
    while (end > first && !is_data(end - 1)) --end;
    return {first, end};
  }
  bool has_file(const Accepted& one) const {
    const auto [first, end] = file_of(one);
    return first < end;
  }
  /// Samples of all stretches that a writer can have behind a block.
  std::uint64_t written_after(std::size_t block) const {
    std::uint64_t samples = 0;
    for (const Accepted& one : accepted)
      if (one.block <= block)
        for (std::int64_t at = std::max(one.first, one.kept); at < std::min(one.end, ends_[block]);
             ++at)
          samples += is_data(at) ? 1 : 0;
    return samples;
  }

 private:
  void look_at(const pipeline::Trigger& trigger, std::size_t block, std::size_t ring) {
    const auto samples = [&](double seconds) {
      return std::llround(seconds * stream_.description.rate_hz.value());
    };
    const std::int64_t at = *trigger.sample;
    Accepted one{block, at - samples(trigger.before_s), at + samples(trigger.after_s), 0};
    one.end = std::max(one.end, one.first + 1);
    if (block >= ring) one.kept = ends_[block - ring];
    if (one.end - one.first > longest || one.end <= one.kept) {
      ++refused;
    } else if (std::any_of(accepted.begin(), accepted.end(), [&](const Accepted& other) {
                 return at >= other.first && at < other.end;
               })) {
      ++covered;
    } else {
      accepted.push_back(one);
    }
  }
  bool is_data(std::int64_t sample) const {
    for (const auto& [at, length] : stream_.gaps)
      if (sample >= static_cast<std::int64_t>(at) &&
          sample < static_cast<std::int64_t>(at + length))
        return false;
    return sample >= 0 && sample < static_cast<std::int64_t>(stream_.samples);
  }

  const BufferStream& stream_;
  std::vector<std::int64_t> ends_;  // [block]
};

}  // namespace tautline::tests

// Channels of channelized voltages that stop, as they come (docs/design/empty.md).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tautline/core/validity.h"
#include "tautline/core/voltage.h"

namespace tautline::stream {

/// A channel of one input that did not change for a while.
struct EmptyChannel {
  std::size_t channel = 0, input = 0;
  std::uint64_t samples = 0;  ///< times, of all such stretches
};

/// Searches a stream's blocks, in order of time, each by itself: from the sample on that repeats its channel's value
/// for the least_repeats()-th time, samples are empty until the value changes. Invalid samples are passed over. The
/// result does not depend on the block size.
class EmptyChannelFinder {
 public:
  /// `threads`: most that look at a block.
  explicit EmptyChannelFinder(const core::VoltageDescription& description, std::size_t threads = 1);

  /// A channel that is not looked at.
  void leave_out(std::size_t channel, std::size_t input);

  /// `valid`: of the block, [channel x input]; of no rows: as block.invalid says, and it gets rows where a channel is
  /// empty.
  void look(const core::RawBlock& block, core::ValidityMask& valid);

  std::size_t least_repeats() const { return repeats_; }
  /// Times x channels x inputs that are empty. Any thread.
  std::uint64_t values() const { return values_; }
  /// By channel, then by input.
  std::vector<EmptyChannel> found() const;

 private:
  /// A run of equal samples that the last block ended with.
  struct OpenRun {
    std::uint64_t value = 0;
    std::size_t samples = 0;  // up to least_repeats()
  };
  class Row;

  using Spans = std::vector<core::InvalidSpan>;  // `input` is the row's number

  /// `later`: a row that is looked at in the same places soon.
  void look_at(const Row& row, const Row& later, std::size_t number, Spans& empty);

  std::size_t inputs_, channels_, repeats_, threads_;
  std::vector<OpenRun> open_;           // [channel x input]
  std::vector<std::uint64_t> samples_;  // [channel x input] that are empty
  std::vector<char> left_out_;          // [channel x input]
  std::vector<Spans> empty_;            // of the block, by each thread
  core::ValidityMask of_inputs_;        // the block's, where `valid` has no rows
  std::atomic<std::uint64_t> values_ = 0;
};

}  // namespace tautline::stream

// Channels of channelized voltages that stop, as they come (docs/design/empty.md).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include "tautline/core/validity.h"
#include "tautline/core/voltage.h"
#include "tautline/stream/zeroed_channels.h"

namespace tautline::stream {

/// A channel of one input that did not change for a while.
struct EmptyChannel {
  std::size_t channel = 0, input = 0;
  std::uint64_t samples = 0;  ///< times, of all such stretches
};

/// Searches a stream's blocks, in order of time: where a channel repeats its value least_repeats() times or more, its
/// samples are empty, from the first of the equal ones on. Invalid samples are passed over. Of a stretch that begins in
/// a block and repeats its value so often only behind the block that follows, the samples of the first block stay; where
/// no following block is given, only behind its own. So the result does not depend on the block size where blocks have
/// more than least_repeats() valid samples and the next one is given. Channels that are zero together for less
/// (ZeroedChannelFinder) are empty, too.
class EmptyChannelFinder {
 public:
  /// `threads`: most that look at a block.
  explicit EmptyChannelFinder(const core::VoltageDescription& description, std::size_t threads = 1);

  /// A channel that is not looked at.
  void leave_out(std::size_t channel, std::size_t input);

  /// `valid`: of the block, [channel x input]; of no rows: as block.invalid says, and it gets rows where a channel is
  /// empty. `next`: the block that follows, with its invalid samples; null: not known, or none.
  void look(const core::RawBlock& block, core::ValidityMask& valid,
            const core::RawBlock* next = nullptr);

  std::size_t least_repeats() const { return repeats_; }
  /// Times x channels x inputs that are empty. Any thread.
  std::uint64_t values() const { return values_; }
  /// By channel, then by input.
  std::vector<EmptyChannel> found() const;
  /// Whether a channel of the input stopped, or came back, `within` delivered samples around this one. Of 65,536 places
  /// at most.
  bool turned(std::size_t input, std::uint64_t sample, std::uint64_t within) const;

 private:
  /// A run of equal samples that the last block ended with.
  struct OpenRun {
    std::uint64_t value = 0;
    std::size_t samples = 0;  // up to least_repeats() + 1, which is an empty stretch
  };
  using InputTurn = ZeroedChannelFinder::InputTurn;
  class Row;
  /// What a thread found in a block.
  struct Found {
    std::vector<core::InvalidSpan> spans;  // `input` is the row's number
    std::vector<InputTurn> turns;
  };

  core::ValidityMask validity_of(const core::RawBlock& block) const;
  /// `later`: a row that is looked at in the same places soon; `next`: the row in the block that follows, or null.
  void look_at(const Row& row, const Row& later, const Row* next, std::size_t number, Found& found);
  std::size_t follow(const Row& row, const Row* next, std::size_t number, std::size_t first,
                     std::size_t t, Found& found);
  void look_ahead(const Row& next, OpenRun& open) const;

  std::size_t inputs_, channels_, repeats_, threads_;
  std::vector<OpenRun> open_;           // [channel x input]
  std::vector<std::uint64_t> samples_;  // [channel x input] that are empty
  std::vector<char> left_out_;          // [channel x input]
  std::vector<Found> found_;            // of the block, by each thread, and of zeros
  ZeroedChannelFinder zeroed_;
  std::uint64_t position_ = 0;  // of the block's first sample
  std::set<InputTurn> turns_;
  std::atomic<std::uint64_t> values_ = 0;
};

}  // namespace tautline::stream

// Channels of channelized voltages that are zero together for a few spectra, as where packets were lost and zeros were
// written in their place (docs/design/empty.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "tautline/core/validity.h"
#include "tautline/core/voltage.h"

namespace tautline::stream {

/// A block and which of its samples came: rows are inputs, or channel x input; of no rows: all came.
struct CameBlock {
  const core::RawBlock& raw;
  const core::ValidityMask& came;
};

/// Searches a stream's blocks, in order of time. A sixteenth of the channels of an input, and at least 4 (all, of fewer),
/// that are zero for 16 spectra or more, or all channels for 4 or more, are empty where independent values that are zero
/// as often as those of the same channels beside them would be so less than once in 1e9 hours. What is found at a
/// spectrum depends on the 320 before it and the 128 behind it. So the result does not depend on the block size where
/// blocks have 448 samples or more and the next one is given. Samples of fewer than 8 bits, both components together,
/// are not looked at.
class ZeroedChannelFinder {
 public:
  using InputTurn = std::pair<std::size_t, std::uint64_t>;  // input, delivered sample

  /// `threads`: most that look at a block.
  ZeroedChannelFinder(const core::VoltageDescription& description, std::size_t threads);

  /// Adds the zeros of `block` to `spans`, whose `input` is channel x inputs + input, and where stops begin and end to
  /// `turns`. `next`: the block that follows, or null.
  void look(const CameBlock& block, const CameBlock* next, std::vector<core::InvalidSpan>& spans,
            std::vector<InputTurn>& turns);

 private:
  class Series;
  /// A spectrum of an input that may have such channels, by its distance from the block's first.
  struct Suspect {
    std::size_t t = 0, input = 0;
  };
  /// Zeros of a channel around a suspect: [first, end), and how often it is zero before and behind them.
  struct Zeros {
    std::size_t channel = 0, first = 0, end = 0;
    std::size_t looks[2] = {}, zeros[2] = {};
    std::size_t length() const { return end - first; }
  };
  /// Of samples in the stream.
  struct Stop {
    std::size_t row = 0;
    std::uint64_t first = 0, end = 0;
  };
  /// Suspects in a part of the stream that were none.
  struct Refused {
    std::uint64_t part = 0;
    std::size_t count = 0;
  };

  template <class Word>
  void suspects_in(const Series& series, std::size_t first, std::size_t end,
                   std::vector<Suspect>& found) const;
  bool may_stop(const Series& series, std::size_t channel, std::size_t input, std::size_t t) const;
  void decide(const Series& series, const Suspect& suspect, std::vector<InputTurn>& turns);
  Zeros zeros_around(const Series& series, std::size_t channel, const Suspect& suspect) const;
  std::size_t channels_of_stop();
  bool too_rare(const std::vector<Zeros>& sums, std::size_t channels, std::size_t spectra) const;

  std::size_t inputs_, channels_, least_, threads_;
  bool used_;
  double log_of_nothing_;
  std::uint64_t position_ = 0,
                decided_ = 0;  // of the block's first sample; the first spectrum not looked at
  std::vector<std::uint64_t> until_;  // [channel x input] the end of the last stop
  std::vector<Stop> stops_;           // that reach the block, or lie behind it
  std::vector<Refused> refused_;      // [input]
  std::vector<Zeros> zeros_;          // of a suspect
};

}  // namespace tautline::stream

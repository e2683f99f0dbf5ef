// Empty stretches of voltages: an input that stopped, padding, packets that were written as zeros
// (docs/design/empty.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "tautline/core/voltage.h"
#include "tautline/stream/empty_channels.h"
#include "tautline/stream/repeat_chance.h"

namespace tautline::stream {

/// Times at which an input does not change.
struct EmptyInput {
  std::size_t input = 0;
  std::uint64_t first_sample = 0, samples = 0;  ///< counted in delivered samples
};

/// The empty stretches found in a stream.
struct EmptyVoltages {
  std::uint64_t samples = 0, stretches = 0;  ///< times x inputs; an input's stretch is one
  std::vector<std::uint64_t> inputs;         ///< [input] times
  std::vector<EmptyInput> list;              ///< the first kListed stretches
  std::uint64_t values = 0;                  ///< times x channels x inputs, of single channels
  std::vector<EmptyChannel> channels = {};
  static constexpr std::size_t kListed = 10'000;
};

/// Searches a stream's blocks, in order of time, for empty samples and adds these to the blocks' `invalid`. The result
/// does not depend on the block size, as long as blocks are longer than least_repeats(). One item is a sample of one
/// input in all of its channels; invalid samples end a stretch. A shorter stretch is empty where all inputs repeat
/// their samples together and RepeatChance says that noise does not.
class EmptyVoltageFinder {
 public:
  explicit EmptyVoltageFinder(const core::VoltageDescription& description);

  /// `before`: the preceding block, with nothing missing between the two, or null; a stretch that began there may reach
  /// its least length only now. So `before` is complete when this returns, and `block` after the next call, or when no
  /// block follows.
  void look(core::RawBlock& block, core::RawBlock* before);

  EmptyVoltages found() const;
  std::uint64_t samples() const { return found_.samples; }
  /// Equal samples in a row from which on a stretch is empty.
  std::size_t least_repeats() const { return repeats_; }

 private:
  /// A run of equal samples at the end of the last block.
  struct OpenRun {
    std::size_t samples = 0;           // 0: none
    std::optional<std::size_t> entry;  // its place in the list, or beyond it; none: still too short
    std::vector<std::uint64_t> value;  // [channel]
  };

  /// The same of all inputs together.
  struct OpenRunTogether {
    std::uint64_t first_sample = 0;
    std::size_t samples = 0;            // 0: none
    bool empty = false;                 // marked so far
    std::vector<std::uint64_t> values;  // [input][channel]
    std::uint64_t uncounted = 0;        // times in it that chance_ has not counted
  };

  class Pieces;
  class InputsTogether;

  void find_equal_probes(const core::RawBlock& block);
  std::size_t go_on(OpenRun& open, std::size_t input, std::size_t first, std::size_t end,
                    core::RawBlock& block, core::RawBlock& before, Pieces& pieces);
  void look_at(std::size_t input, std::size_t first, std::size_t end, core::RawBlock& block,
               core::RawBlock* before, Pieces& pieces);
  void mark(core::RawBlock& block, std::size_t input, std::size_t first, std::size_t end,
            std::uint64_t position, std::optional<std::size_t>& entry);
  std::size_t unmarked(const core::RawBlock& block, std::size_t input, std::size_t first,
                       std::size_t end) const;

  void look_together(std::size_t first, std::size_t end, core::RawBlock& block,
                     core::RawBlock* before, const InputsTogether& inputs, Pieces& pieces);
  std::size_t go_on_together(std::size_t end, const InputsTogether& inputs, core::RawBlock& block,
                             core::RawBlock& before, Pieces& pieces);
  void mark_together(core::RawBlock& block, std::size_t first, std::size_t end);
  void list_together(const OpenRunTogether& run, EmptyVoltages& found) const;
  bool is_empty_together(std::size_t samples) const;
  void end_run_together();

  std::size_t repeats_;
  std::vector<OpenRun> open_;                             // [input]
  std::vector<std::vector<std::uint32_t>> equal_probes_;  // [input]; none: not searched
  std::uint64_t position_ = 0, before_position_ = 0;      // of the block's first sample
  std::size_t lost_ = 0, before_lost_ = 0;                // invalid spans that were the reader's
  const core::RawBlock* block_ = nullptr;                 // the one that is looked at
  RepeatChance chance_;
  OpenRunTogether together_;
  EmptyVoltages found_;
};

}  // namespace tautline::stream

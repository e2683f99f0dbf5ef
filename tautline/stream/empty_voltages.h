// Empty stretches of voltages: an input that stopped, padding, packets that were written as zeros
// (docs/design/empty.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tautline/core/voltage.h"
#include "tautline/stream/empty_channels.h"
#include "tautline/stream/repeat_chance.h"

namespace tautline::stream {

class InputTimes;

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
/// input in all of its channels; invalid samples end a stretch. A shorter stretch is empty where RepeatChance says that
/// the input's noise, or that of all inputs together, does not repeat so often.
class EmptyVoltageFinder {
 public:
  explicit EmptyVoltageFinder(const core::VoltageDescription& description);

  /// `before`: the preceding block, with nothing missing between the two, or null; a stretch that began there may reach
  /// its least length only now. So `before` is complete when this returns, and `block` after the next call, or when no
  /// block follows.
  void look(core::RawBlock& block, core::RawBlock* before);

  EmptyVoltages found() const;
  std::uint64_t samples() const { return found_.samples; }
  /// Repeats in a row from which on a stretch of one input is empty whatever its noise.
  std::size_t least_repeats() const { return repeats_; }

 private:
  /// A run of equal samples at the end of the last block.
  struct OpenRun {
    std::uint64_t first_sample = 0;
    std::size_t samples = 0;           // 0: none
    std::optional<std::size_t> entry;  // its place in the list, or beyond it; none: still too short
    std::vector<std::uint64_t> value;  // [channel]
    std::uint64_t uncounted = 0;       // times in it that the input's chance has not counted
    std::vector<EmptyInput> waiting;   // stretches of all inputs in it: listed unless it is empty
  };

  struct Run {
    std::uint64_t first = 0, end = 0;
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
  std::size_t go_on(std::size_t input, std::size_t end, core::RawBlock& block,
                    core::RawBlock& before, Pieces& pieces);
  void look_at(std::size_t input, std::size_t first, std::size_t end, core::RawBlock& block,
               core::RawBlock* before, Pieces& pieces);
  void mark(core::RawBlock& block, std::size_t input, std::size_t first, std::size_t end,
            std::uint64_t position, std::optional<std::size_t>& entry);
  static std::size_t overlap(std::span<const Run> runs, const Run& run);
  bool is_empty(std::size_t input, std::size_t samples) const;
  void count_repeats(std::size_t input, std::size_t first, std::size_t end,
                     const InputTimes& samples);
  void end_run(std::size_t input);
  void list(const EmptyInput& one);

  void look_together(std::size_t first, std::size_t end, core::RawBlock& block,
                     core::RawBlock* before, const InputsTogether& inputs, Pieces& pieces);
  std::size_t go_on_together(std::size_t end, const InputsTogether& inputs, core::RawBlock& block,
                             core::RawBlock& before, Pieces& pieces);
  void mark_together(core::RawBlock& block, std::size_t first, std::size_t end,
                     std::uint64_t position);
  void list_together(const OpenRunTogether& run);
  bool is_empty_together(std::size_t samples) const;
  void end_run_together();

  std::size_t repeats_, least_;  // least_: the fewest that are looked for
  std::vector<OpenRun> open_;    // [input]
  // Empty runs in this block and the last: [input] of the input, and those of all inputs.
  std::vector<std::vector<Run>> runs_;
  std::vector<Run> together_runs_;
  std::vector<RepeatChance> chances_;  // [input]; none: least_ is repeats_
  // [input] times in the block that equal the next probe, or the next time; none: not searched
  std::vector<std::vector<std::uint32_t>> equal_probes_, equal_counted_;
  std::uint64_t position_ = 0, before_position_ = 0;  // of the block's first sample
  RepeatChance chance_;
  OpenRunTogether together_;
  EmptyVoltages found_;
};

}  // namespace tautline::stream

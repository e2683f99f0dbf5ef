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

namespace tautline::core {
struct ConstantRun;
}

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
  struct Run {
    std::uint64_t first = 0, end = 0;
  };

  /// A run of equal samples at the end of the last block.
  struct OpenRun {
    std::uint64_t first_sample = 0;
    std::size_t samples = 0;            // 0: none
    bool finite = true;                 // false: damage, which is never empty
    bool empty = false;                 // so far; else still too short
    std::uint64_t uncounted = 0;        // times in it that the chance has not counted
    std::vector<std::uint64_t> values;  // [input][channel]
    std::optional<std::size_t> entry;   // of an empty one: its place in the list, or beyond it
    std::vector<EmptyInput> waiting;    // stretches of all inputs in it: listed unless it is empty
  };

  /// The search in one input, or in all inputs together (kAllInputs).
  struct RepeatSearch {
    std::size_t input = 0;
    std::size_t least = 0;  // the fewest repeats that are looked for
    RepeatChance chance;
    OpenRun open = {};
    std::vector<Run> runs = {};  // empty ones in this block and the last
  };

  class Pieces;
  class InputsTogether;
  struct Blocks;

  void find_equal_probes(const core::RawBlock& block);
  // All searches look at the same probes.
  std::size_t least_of_probes() const { return inputs_.front().least; }
  static std::size_t compared_input(const RepeatSearch& search);
  template <class Samples>
  void look_in(RepeatSearch& search, const std::vector<core::ConstantRun>& parts,
               const Samples& samples, const Blocks& blocks);
  template <class Samples>
  void look_at(RepeatSearch& search, std::size_t first, std::size_t end, const Samples& samples,
               const Blocks& blocks);
  template <class Samples>
  std::size_t go_on(RepeatSearch& search, std::size_t end, const Samples& samples,
                    const Blocks& blocks);
  template <class Samples>
  void count_repeats(RepeatSearch& search, std::size_t first, std::size_t end,
                     const Samples& samples);
  void count_other(RepeatSearch& search, std::size_t time) const;
  bool is_empty(const RepeatSearch& search, const OpenRun& run) const;
  void end_run(RepeatSearch& search);
  void mark(core::RawBlock& block, const RepeatSearch& search, OpenRun& run, std::size_t first,
            std::size_t end, std::uint64_t position);
  void mark_together(core::RawBlock& block, std::size_t first, std::size_t end,
                     std::uint64_t position);
  void list(const EmptyInput& one);
  void list_together(const OpenRun& run);
  static std::size_t overlap(std::span<const Run> runs, const Run& run);

  std::size_t repeats_;
  std::vector<RepeatSearch> inputs_;
  RepeatSearch together_;
  // [input] times in the block that equal the next probe, or the next time; none: not searched
  std::vector<std::vector<std::uint32_t>> equal_probes_, equal_counted_;
  std::uint64_t position_ = 0, before_position_ = 0;  // of the block's first sample
  EmptyVoltages found_;
};

}  // namespace tautline::stream

// Valid-sample counts of every baseline from the validity masks of one channel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tautline/stages/correlate/cpu.h"

namespace tautline::stages::correlate::cpu {

/// Inputs that share their mask (all of a receiver lose the same packet) are counted once: rows are
/// sorted into classes of equal masks, and pairs of classes are counted. With more classes than
/// fit the table, rows are counted pair by pair. Holds its memory, so counting allocates nothing.
class PairCounter {
 public:
  explicit PairCounter(std::size_t inputs);
  static std::size_t bytes(std::size_t inputs);

  /// Takes in the masks of one channel: input i's words are words + i * stride.
  void prepare(const RowLoops& loops, const std::uint64_t* words, std::ptrdiff_t stride,
               std::size_t samples);

  /// counts[j] = samples valid in both i and j, for j <= i.
  void count_row(std::size_t i, std::int64_t* counts) const;

 private:
  static constexpr std::size_t kMaxClasses = 64;

  bool classify(std::size_t input);
  std::uint64_t count(const std::uint64_t* a, const std::uint64_t* b) const;
  const std::uint64_t* row(std::size_t input) const;

  const RowLoops* loops_ = nullptr;
  const std::uint64_t* words_ = nullptr;
  std::ptrdiff_t stride_ = 0;
  std::size_t samples_ = 0;
  bool classified_ = false;
  std::size_t classes_ = 0;
  std::vector<std::uint16_t> class_of_;        // [input]
  std::vector<std::uint16_t> representative_;  // [class]: an input
  std::vector<std::int64_t> table_;            // [class][class]
};

}  // namespace tautline::stages::correlate::cpu

// Valid-sample counts of every baseline from validity masks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tautline/stages/correlate/cpu/kernels.h"

namespace tautline::stages::correlate::cpu {

/// Counts one channel. Inputs with equal masks (all inputs of a receiver lose the same packet) form
/// a class, and only pairs of classes are counted. With more classes than the table has room for,
/// inputs are counted pair by pair. Counting allocates nothing.
class PairCounter {
 public:
  explicit PairCounter(std::size_t inputs);
  static std::size_t bytes(std::size_t inputs);

  /// Sorts the masks of one channel into classes: input i's words are words + i * stride.
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

/// Counts all channels of one stream on the queue's workers; owns the memory for it.
class CountEngine {
 public:
  CountEngine(std::size_t inputs, std::size_t workers);
  static std::size_t bytes(std::size_t inputs, std::size_t workers);

  /// counts[c][b(i, j)] += samples of `samples` that are valid in both i and j.
  void add(device::Queue& queue, const RowLoops& loops, const Validity& validity,
           std::size_t samples, const Counts& counts);

 private:
  void add_full(device::Queue& queue, std::int64_t samples, const Counts& counts) const;
  void add_rows(device::Queue& queue, const Counts& counts, std::size_t first_channel,
                std::size_t last_channel);
  void add_row(std::size_t counter, std::size_t worker, std::size_t row, const Counts& counts,
               std::size_t first_channel, std::size_t last_channel);

  std::size_t inputs_;
  std::vector<PairCounter> counters_;     // [worker]
  std::vector<std::int64_t> row_counts_;  // [worker][input]
};

}  // namespace tautline::stages::correlate::cpu

// The zero-DM filter on a GPU, taken off the sums of bytes: not part of the stage's interface.
//
//   trial i less the filter = S[i][t] - M[i][t] / K,    M[i][t] = sum over c of s[t + d(i, c)]
//
// with s the sum of all K summed channels at each time. Both S and M are whole numbers, so one
// product with 1 / K and one rounding to float are all that differs from real numbers, whatever the
// device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "tautline/stages/dedisperse/backends.h"

namespace tautline::stages::dedisperse {

/// Whether the trials of `config` can be had that way on `device`: rows of bytes, and so few
/// channels that a transform's digits come out whole.
bool corrects_sums(const Config& config, const device::Device& device);

/// `sums` are made by make_gpu_plan of plan->without_zero_dm().
std::shared_ptr<const Plan> make_zero_dm_plan(std::shared_ptr<const DelayPlan> plan,
                                              std::shared_ptr<const Plan> sums,
                                              std::shared_ptr<const device::Device> device,
                                              const Tunables& tunables);

/// What the correction of each trial is made of: how many channels have which delay, and which trials
/// are worth a transform (zero_dm.kernel).
struct ZeroDmTables {
  /// (delay, channels that have it), by rising delay, of one trial after the other.
  std::vector<std::uint32_t> entries;
  std::vector<std::uint32_t> starts;  ///< [trial] its first entry, and the end of the last one's
  std::vector<std::uint32_t> added;   ///< trials whose entries are added up
  std::vector<std::uint32_t> transformed;  ///< the others
  std::size_t points = 0;                  ///< of a transform: four to the 4 to 7
  std::size_t parts = 1;                   ///< of points / 2 delays
  double largest_norm = 0;  ///< root of the sum of squares of channels, over transformed trials

  std::size_t pairs() const { return (transformed.size() + 1) / 2; }
  std::size_t pattern_bytes() const { return pairs() * parts * points * 8; }
};

/// `delay(trial, position)` of so many of each. Transforms have `most_points` at most (0: none),
/// and are taken for trials with more than `most_added` different delays.
ZeroDmTables make_zero_dm_tables(
    std::size_t trials, std::size_t positions,
    const std::function<std::uint32_t(std::size_t, std::size_t)>& delay, std::size_t most_points,
    std::size_t most_added);

}  // namespace tautline::stages::dedisperse

// The work list of the CPU for a tile of times and a block of trials: shared partial sums are made
// in scratch memory, then every trial adds the partial sums that it needs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tautline/stages/dedisperse/cpu/kernels.h"
#include "tautline/stages/dedisperse/plan/delays.h"
#include "tautline/stages/dedisperse/tunables.h"

namespace tautline::stages::dedisperse {

/// The division of the work.
struct WorkCut {
  std::size_t time_tile = 512;    ///< times of a tile, a multiple of kGranule
  std::size_t block_trials = 64;  ///< trials of a block
  std::size_t levels = 0;         ///< of the tree: trials add groups of 2^levels channels
};

struct CpuCost;

/// Types of rows and sums that hold every integer exactly; sums are of 16 bits where these hold
/// enough channels to be worth widening.
Types types_for(const DelayPlan& plan);

/// The limits of the sizes.
struct WorkLimits {
  std::size_t channels_in_sum;    ///< most channels that a partial sum can hold
  std::size_t channels_in_trial;  ///< most channels of a sum and its carries
  std::size_t row_bytes, sum_bytes;
  std::size_t near_bytes;     ///< of input windows that a bundle of plain channels may read
  std::size_t scratch_bytes;  ///< for the shared sums of a bundle
};
WorkLimits limits_for(const DelayPlan& plan, const Tunables& tunables);

/// Groups whose sums the trials of a block add in one pass.
struct Bundle {
  std::size_t first_add, adds;
  std::size_t first_place;  ///< of [trial of the block][group]
  std::size_t groups;
  std::size_t first_position, positions;  ///< channels whose rows it reads
  bool start = false, finish = false;     ///< sums begin with this bundle; are output after it
  bool carried = false;                   ///< there are carries
  bool carry = false;                     ///< sums are carried after this bundle
  bool first_output = false;              ///< the first bundle whose sums are output: overwrite
};

struct TrialBlock {
  std::size_t first_trial, trials;  ///< of the order of rising DM
  std::size_t first_bundle, bundles;
};

struct WorkList {
  WorkCut cut;
  std::vector<TrialBlock> blocks;
  std::vector<Bundle> bundles;
  std::vector<Add> adds;
  std::vector<std::uint32_t> places;  ///< in scratch; without sharing, delays
  std::size_t scratch_elements = 0;   ///< a worker's, behind its sums
  double counted_adds = 0;            ///< for one time of all trials

  bool carries = false;  ///< some bundle's sums are carried

  std::size_t sums_elements() const { return cut.time_tile * cut.block_trials; }
  std::size_t bytes() const;
};

WorkList make_work_list(const DelayPlan& plan, const WorkCut& cut, const WorkLimits& limits,
                        const CpuCost& cost);

}  // namespace tautline::stages::dedisperse

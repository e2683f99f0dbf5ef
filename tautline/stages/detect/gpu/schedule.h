// What a GPU does with the samples that have come, trial by trial: which means, which baselined
// samples, which blocks. It follows from counts alone, so that the host knows it before the device
// has begun.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tautline/stages/detect/detect.h"
#include "tautline/stages/detect/sizes.h"

namespace tautline::stages::detect {

/// Rings in the device's memory, of each trial, and how much one step does at most.
struct GpuSizes {
  std::size_t segment_slots = 0;  ///< of samples as they came, in segments
  std::size_t mean_slots = 0;     ///< of means of segments and running means
  std::size_t y_samples = 0;      ///< of baselined samples, a multiple of 4
  std::size_t sigma_slots = 0;    ///< of blocks
  std::size_t step_segments = 0;  ///< baselined in a step at most
  std::size_t step_blocks = 0;    ///< searched in a step at most
};
GpuSizes derive_gpu_sizes(const Sizes& sizes, std::size_t max_samples);

/// Baselined samples of one trial, in whole segments and perhaps what follows the last one.
struct EmitJob {
  std::size_t trial = 0;
  std::uint64_t first_mean = 0, mean_count = 0;  ///< running means that are settled now
  std::uint64_t complete = 0;                    ///< segments, K
  std::uint64_t first_segment = 0, samples = 0;  ///< to baseline
  std::uint64_t own = 0;                         ///< segments with a mean of their own
};

/// Boxcars that begin in [first, first + starts) of one trial, within `samples` samples.
struct BlockJob {
  std::size_t trial = 0;
  std::uint64_t first = 0, starts = 0, samples = 0;
  std::uint64_t window = 0;  ///< samples that the running mean looks at
  bool keeps_sigma = false;  ///< too short to measure noise on
  bool last = false;         ///< of its trial
};

struct Step {
  std::vector<EmitJob> emits;
  /// Those that measure their noise, in order of trial and time, then those that keep another's.
  std::vector<BlockJob> blocks;
  std::size_t measuring = 0;   ///< of blocks
  std::uint64_t searched = 0;  ///< samples at which boxcars have begun after it, longest trial
  /// After it, [trial]: baselined samples; first sample of the next block, ~0 when there is none.
  std::vector<std::uint64_t> baselined, block_first;
};

class GpuSchedule {
 public:
  GpuSchedule(const Config& config, const Sizes& sizes, const GpuSizes& rings);

  std::uint64_t received() const { return received_; }
  void receive(std::uint64_t samples);
  /// The stream has ended.
  void finish();
  /// Whether anything is left to do, and what comes next.
  bool next(Step& step);

 private:
  struct Trial {
    std::uint64_t total = 0;                  ///< samples that have come and are the trial's
    std::uint64_t averaged = 0, emitted = 0;  ///< segments
    std::uint64_t y_end = 0, block_first = 0;
    bool ended = false, done = false;
  };
  void emit(Trial& trial, std::size_t number, Step& step) const;
  void search(Trial& trial, std::size_t number, Step& step, std::vector<BlockJob>& keeping) const;

  Sizes sizes_;
  GpuSizes rings_;
  std::vector<std::uint64_t> lengths_;
  std::vector<Trial> trials_;
  std::uint64_t received_ = 0;
};

}  // namespace tautline::stages::detect

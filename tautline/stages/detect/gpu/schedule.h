// The schedule of the GPU search: the running means, baselined samples and blocks of each step,
// trial by trial. They follow from the numbers of samples alone, so that the host can plan a step
// before the device has finished the one before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tautline/stages/detect/detect.h"
#include "tautline/stages/detect/gpu/layout.h"
#include "tautline/stages/detect/sizes.h"

namespace tautline::stages::detect {

/// Baselining of one trial's samples: complete segments, and at its end the samples after the last
/// one.
struct EmitJob {
  std::size_t trial = 0;
  std::uint64_t first_mean = 0, mean_count = 0;  ///< running means that are final now
  std::uint64_t complete = 0;                    ///< complete segments, K
  std::uint64_t first_segment = 0, samples = 0;  ///< to baseline
  std::uint64_t own = 0;                         ///< segments with a mean of their own
};

/// Boxcars that begin in [first, first + starts) of one trial, within `samples` samples.
struct BlockJob {
  std::size_t trial = 0;
  std::uint64_t first = 0, starts = 0, samples = 0;
  std::uint64_t window = 0;  ///< samples of the running mean
  bool keeps_sigma = false;  ///< too short to measure: has the sigma of the block before
  bool last = false;         ///< of its trial
};

struct Step {
  std::vector<EmitJob> emits;
  /// The blocks that measure their sigma, in order of trial and time; then those that keep one.
  std::vector<BlockJob> blocks;
  std::size_t measuring = 0;   ///< blocks that measure their sigma
  std::uint64_t searched = 0;  ///< Counters::searched after this step
  /// After this step, [trial]: baselined samples; first sample of the next block, ~0 without one.
  std::vector<std::uint64_t> baselined, block_first;
};

class GpuSchedule {
 public:
  GpuSchedule(const Config& config, const Sizes& sizes, const GpuRings& rings);

  std::uint64_t received() const { return received_; }
  void receive(std::uint64_t samples);
  void set_lengths(std::span<const std::uint64_t> lengths) {
    lengths_.assign(lengths.begin(), lengths.end());
  }
  /// Ends the stream.
  void finish();
  /// Plans the next step; false where the samples so far give no more work.
  bool next(Step& step);
  template <class Archive>
  void exchange(Archive& archive) {
    archive(trials_, received_);
  }

 private:
  struct Trial {
    std::uint64_t total = 0;                  ///< samples received, at most the trial's length
    std::uint64_t averaged = 0, emitted = 0;  ///< segments
    std::uint64_t y_end = 0, block_first = 0;
    bool ended = false, done = false;
  };
  void emit(Trial& trial, std::size_t number, Step& step) const;
  void search(Trial& trial, std::size_t number, Step& step, std::vector<BlockJob>& keeping) const;

  Sizes sizes_;
  GpuRings rings_;
  std::vector<std::uint64_t> lengths_;
  std::vector<Trial> trials_;
  std::uint64_t received_ = 0;
};

}  // namespace tautline::stages::detect

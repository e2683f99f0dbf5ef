// The boxcars of one block of one trial: which are over the threshold, and the best at each time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tautline/stages/detect/cpu/kernels.h"
#include "tautline/stages/detect/events.h"
#include "tautline/stages/detect/sizes.h"

namespace tautline::stages::detect {

/// The best boxcar whose centre is at one time.
struct Peak {
  std::uint64_t time = 0;
  double snr = 0;
  std::uint32_t width_index = 0;
};

/// Scratch memory of one thread.
class BlockSearch {
 public:
  explicit BlockSearch(const Sizes& sizes);
  static std::size_t bytes(const Sizes& sizes);

  /// Boxcars that begin in [0, starts) of y, which ends after `samples` of them.
  struct Block {
    const float* y = nullptr;
    std::size_t starts = 0, samples = 0;
    std::uint64_t first = 0;  ///< number of y[0] in the stream
    double sigma = 1;
  };
  /// Adds what a block finds to the peaks, and to over[width].
  void search(const Block& block, const Scales& scales, Noise noise, double threshold,
              const Kernels& kernels, std::uint64_t* over);
  /// Puts peaks that an earlier block found.
  void put(const std::vector<Peak>& peaks, std::uint64_t first);
  /// Calls found(peak) for the peaks in order of time, from `first` (of the block) on, and forgets
  /// them.
  template <class Found>
  void take(std::uint64_t first, Found found) {
    for (std::size_t at = lowest_; at < highest_; ++at) {
      if (snr_[at] > 0) found(Peak{first + at, snr_[at], width_[at]});
      snr_[at] = 0;
    }
    lowest_ = snr_.size();
    highest_ = 0;
  }

 private:
  void scan_steps(const Block& block, const Scales& scales, const Kernels& kernels,
                  std::uint64_t* over);
  void scan_all(const Block& block, const Scales& scales, std::uint64_t* over);
  Scales measured_scales(const Block& block, const Scales& scales, double threshold, bool few,
                         const Kernels& kernels);
  void offer(std::size_t time, std::size_t width_index, double snr);

  const Sizes& sizes_;
  std::vector<std::int32_t> prefix_, least_;
  std::vector<std::int64_t> wide_prefix_;
  std::vector<Hit> hits_;
  std::vector<double> snr_;  // by the time after the block's first; 0: nothing
  std::vector<std::uint32_t> width_;
  std::size_t lowest_, highest_ = 0;  // where snr_ is set
};

}  // namespace tautline::stages::detect

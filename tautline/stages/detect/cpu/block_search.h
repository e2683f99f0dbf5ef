// The search of one block of one trial: counts the boxcars over the threshold, and finds the best
// one at each time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tautline/stages/detect/cpu/kernels.h"
#include "tautline/stages/detect/events.h"
#include "tautline/stages/detect/sizes.h"

namespace tautline::stages::detect {

/// Searches blocks with the scratch memory of one thread.
class BlockSearch {
 public:
  explicit BlockSearch(const Sizes& sizes);
  static std::size_t bytes(const Sizes& sizes);

  /// Boxcars that begin in [0, starts) of y, which has `samples` samples.
  struct SeriesBlock {
    const float* y = nullptr;
    std::size_t starts = 0, samples = 0;
    std::uint64_t first = 0;  ///< index of y[0] in the stream
    double sigma = 1;
  };
  /// Adds a block's best boxcars to the peaks, and its boxcars over the threshold to over[width].
  void search(const SeriesBlock& block, const Scales& scales, Noise noise, double threshold,
              const Kernels& kernels, std::uint64_t* over);
  /// Adds peaks of an earlier block.
  void put(const std::vector<Peak>& peaks, std::uint64_t first);
  /// Calls found(peak) for all peaks in order of time, and clears them. `first` is the block's.
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
  void scan_steps(const SeriesBlock& block, const Scales& scales, const Kernels& kernels,
                  std::uint64_t* over);
  void scan_all(const SeriesBlock& block, const Scales& scales, std::uint64_t* over);
  Scales measured_scales(const SeriesBlock& block, const Scales& scales, double threshold, bool few,
                         const Kernels& kernels);
  void offer(std::size_t time, std::size_t width_index, double snr);

  const Sizes& sizes_;
  std::vector<std::int32_t> prefix_, least_;
  std::vector<std::int64_t> wide_prefix_;
  std::vector<Hit> hits_;
  std::vector<double> snr_;  // [time after the block's first]; 0: no peak
  std::vector<std::uint32_t> width_;
  std::size_t lowest_, highest_ = 0;  // range of times in which snr_ is set
};

}  // namespace tautline::stages::detect

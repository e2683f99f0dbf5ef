// Sigma of a block of baselined samples. Medians are found by selection, without sorting.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tautline/stages/detect/cpu/kernels.h"
#include "tautline/stages/detect/sizes.h"

namespace tautline::stages::detect {

/// A trial's last measurement, around which the next selection starts. It does not change results.
struct NoiseGuess {
  bool known = false;
  float median = 0, mad = 0;
};

/// Measures sigmas with the scratch memory of one thread.
class NoiseMeter {
 public:
  explicit NoiseMeter(std::size_t samples)
      : values_(samples), kept_(samples + 16), smaller_(samples + 16) {}

  static std::size_t bytes(std::size_t samples) { return (3 * samples + 32) * sizeof(float); }

  /// 1.4826 MAD of y[0..n), without NaN. y[0] is sample `first` of the stream. spreading() is added
  /// to integers. Of an even number of values, the median is the lower of the two middle ones.
  double sigma(const float* y, std::size_t n, std::uint64_t first, core::SampleType type,
               bool may_be_missing, const Kernels& kernels, NoiseGuess& guess);

 private:
  float select(std::size_t n, std::size_t rank, float low, float high, const Kernels& kernels);

  std::vector<float> values_, kept_, smaller_;
};

}  // namespace tautline::stages::detect

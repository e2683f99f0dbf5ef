// Sigma of a event of baselined samples, by selection instead of sorting.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tautline/stages/detect/cpu/kernels.h"
#include "tautline/stages/detect/sizes.h"

namespace tautline::stages::detect {

/// The last measurement of a trial: where the next one looks first. Never changes a result.
struct NoiseGuess {
  bool known = false;
  float median = 0, mad = 0;
};

/// Scratch memory of one thread.
class NoiseMeter {
 public:
  explicit NoiseMeter(std::size_t samples)
      : values_(samples), kept_(samples + 16), smaller_(samples + 16) {}

  static std::size_t bytes(std::size_t samples) { return (3 * samples + 32) * sizeof(float); }

  /// 1.4826 MAD of y[0..n), whose first sample is number `first` of the stream; NaN is left out.
  /// Integers are spread over their steps first. The median is the lower one of an even number.
  double sigma(const float* y, std::size_t n, std::uint64_t first, SampleType type,
               bool may_be_missing, const Kernels& kernels, NoiseGuess& guess);

 private:
  float select(std::size_t n, std::size_t rank, float low, float high, const Kernels& kernels);

  std::vector<float> values_, kept_, smaller_;
};

}  // namespace tautline::stages::detect

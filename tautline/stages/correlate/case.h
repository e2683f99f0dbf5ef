// Sizes, tolerance, operations and bytes of the correlator's cases: for tests and the benchmark.
#pragma once

#include <cstddef>
#include <string_view>
#include <type_traits>

#include "tautline/core/baseline.h"
#include "tautline/stages/correlate/correlate.h"

namespace tautline::stages::correlate {

// Samples that one float sum takes before it is added to a double sum. They bound the rounding
// errors below.
/// Of float samples. Beyond 256 the additions of doubles cost under 2 % of the time, and rounding
/// errors would go on growing.
inline constexpr std::size_t kFloatChunkSamples = 256;

/// Of halves on matrix units, whose sums are floats: more frequent additions would cost time.
inline constexpr std::size_t kHalfChunkSamples = 4096;

/// Largest accepted error of a float visibility, in units of n sqrt(P_i P_j) with P the mean power
/// of an input and n the samples summed (|V| itself is at most that, by Cauchy-Schwarz).
///
/// Each part of the sum over a chunk (kFloatChunkSamples) is 512 multiply-adds, each rounded to
/// float (2^-24 relative to the running sum, which is below 256 sqrt(P_i P_j)). If every rounding
/// had the worst size and sign the error would be 512 x 2^-24 = 3.1e-5; roundings of random sign
/// give sqrt(512) x 2^-24 x 0.3 = 4e-7 on fully correlated input, and less on noise. 4e-6 is ten
/// times the random estimate, and an eighth of the bound.
inline constexpr double kFloatTolerance = 4e-6;

/// The same for sums of halves by matrix units. They add the products of 8 samples (each exact) to
/// a float sum at once, and truncate instead of rounding: up to 2^-23 of the sum each time, always
/// towards zero. Over a chunk (kHalfChunkSamples) of fully correlated input the error can grow to
/// 512 x 2^-23 = 6.1e-5 of the sum; the products of one step are aligned to the largest and
/// truncated too, which can add as much again. Noise, whose sums have changing signs, has errors 30
/// times smaller.
inline constexpr double kHalfTolerance = 1.2e-4;

/// The tolerance of the code that runs for samples of this type.
template <class Sample>
inline constexpr double kTolerance =
    std::is_same_v<Sample, core::cf16> ? kHalfTolerance : kFloatTolerance;

/// Numbers of inputs at which integer correlation is compared with the reference: one, odd numbers,
/// multiples of the panel of 16, and their neighbours.
inline constexpr std::size_t kTestInputs[] = {1, 2, 3, 5, 19, 33, 64, 127, 256};

/// Numbers of samples: around validity words, packing steps (2, 16, 64) and chunks (256, 512,
/// 1024).
inline constexpr std::size_t kTestSamples[] = {1,   2,   3,    7,    15,   16,  17,  31,
                                               32,  33,  63,   64,   65,   255, 257, 511,
                                               512, 513, 1000, 1023, 1025, 2500};

/// Multiplications executed for each one that useful_operations counts: code without byte
/// multiply-adds makes a complex product of three real products instead of four
/// (docs/maths/correlate.md).
inline double products_made(std::string_view backend) {
  const bool three = backend == "portable" || backend == "avx2" || backend == "avx512";
  return three ? 0.75 : 1.0;
}

/// One size to measure.
struct Case {
  Config config;
  std::size_t samples;

  double operations() const { return useful_operations(config, samples); }
  /// Bytes moved: the samples of `blocks` calls are read, visibilities and counts read and written
  /// once.
  double bytes(std::size_t blocks = 1) const {
    const double per_channel =
        static_cast<double>(config.inputs * samples * blocks *
                            static_cast<std::size_t>(config.format.bits_per_sample())) /
            8 +
        static_cast<double>(core::baseline_count(config.inputs)) * (16 + 8);
    return per_channel * static_cast<double>(config.channels);
  }
};

}  // namespace tautline::stages::correlate

// The interface between the CPU search and its inner loops, one table for each instruction set. All
// tables give the same bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "tautline/device/device.h"

namespace tautline::stages::detect {

/// Partial sums of floats, in double: sample i is added to sum i mod 8.
inline constexpr std::size_t kFloatSums = 8;

inline double combine(const double (&s)[kFloatSums]) {
  return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
}

/// Boxcars of one step of `scan`.
inline constexpr std::size_t kScanStep = 64;
/// A sum of absolute values (in units of the quantised samples) below this cannot overflow the
/// 32-bit arithmetic of `scan`, and kPadding behind the last prefix sum then makes no detection.
inline constexpr std::int64_t kScanLimit = std::int64_t{1} << 29;
inline constexpr std::int32_t kPadding = -(std::int32_t{1} << 30);
/// The limit for `sum_squares` of kSquaresStep boxcars.
inline constexpr std::int64_t kSquaresLimit = std::int64_t{1} << 27;
inline constexpr std::size_t kSquaresStep = 512;

/// A step of scan in which a width may have a detection.
struct Hit {
  std::uint32_t start = 0;  ///< first boxcar of the step
  std::uint32_t width = 0;  ///< its index
};

/// y[i] = (x[i] - base) - (offset + slope (first + i)), each operation rounded to float.
struct Line {
  float offset = 0, slope = 0;
  std::size_t first = 0;
};

/// Functions for samples T: whether all are usable, their sum (of integers exact, of floats in the
/// order of combine()), and the subtraction of a Line.
template <class T>
struct SampleKernels {
  bool (*usable)(const T* x, std::size_t n);
  std::conditional_t<std::is_same_v<T, float>, double, std::int64_t> (*sum)(const T* x,
                                                                            std::size_t n);
  void (*subtract)(const T* x, std::size_t n, T base, const Line& line, float* y);
};

struct Kernels {
  SampleKernels<std::int32_t> integers;
  SampleKernels<float> floats;
  template <class T>
  const SampleKernels<T>& of() const {
    if constexpr (std::is_same_v<T, float>)
      return floats;
    else
      return integers;
  }

  /// out[i] = a[i] + b[i]
  void (*add)(const float* a, const float* b, std::size_t n, float* out);
  /// v[i] = |v[i] - centre|
  void (*deviate)(float* v, std::size_t n, float centre);
  /// Counts the values below `low`, and packs those in [low, high] into `kept` (n + 16 long).
  void (*narrow)(const float* v, std::size_t n, float low, float high, float* kept,
                 std::size_t* below, std::size_t* count);

  /// z = y x scale to the nearest integer, half to even, within +-2^30; NaN becomes 0.
  /// prefix[i] = z[0] + ... + z[i - 1] modulo 2^32, n + 1 of them. Returns the sum of |z|, to 1e-3.
  double (*quantise)(const float* y, std::size_t n, float scale, std::int32_t* prefix);

  /// Scans boxcars [0, n) in steps of kScanStep. Writes every (step, width) in which
  /// prefix[i + width] - prefix[i] >= least[width] for some i to `hits`, and returns their number.
  /// Reads prefix up to n rounded up to complete steps, plus the widest width.
  std::size_t (*scan)(const std::int32_t* prefix, std::size_t n, const std::size_t* widths,
                      const std::int32_t* least, std::size_t width_count, Hit* hits);

  /// Sum of squares of prefix[i + width] - prefix[i] over n boxcars, kSquaresStep or fewer.
  std::uint64_t (*sum_squares)(const std::int32_t* prefix, std::size_t n, std::size_t width);

  device::InstructionSet set;  ///< of this code
};

/// The best table for `set`: vnni and amx run the code of avx512.
const Kernels& kernels_for(device::InstructionSet set);

}  // namespace tautline::stages::detect

// The sizes and constants of the search, derived once from the Config: not part of the interface.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "tautline/stages/detect/detect.h"

namespace tautline::stages::detect {

/// The running mean is taken over this many segments, half of them on either side of its own.
inline constexpr std::size_t kWindowSegments = 33;
/// Samples are held in units of sigma / 1,024: the rounding adds 8e-8 sigma^2 to their variance.
inline constexpr double kUnitsPerSigma = 1024;
/// Least samples that sigma is measured on: 16,384 give it to 0.9 %, which lifts the rate of noise
/// over 4 sigma by 1 %.
inline constexpr std::size_t kNoiseSamples = 16384;
/// MAD to standard deviation of a Gaussian.
inline constexpr double kSigmaPerMad = 1.4826;
/// Variance of an integer spread evenly over its step, which is how integers enter the MAD.
inline constexpr double kStepVariance = 1.0 / 12;

struct Sizes {
  std::size_t segment = 2;  ///< samples of a segment of the baseline, even
  std::size_t noise = 0;    ///< samples of a block of one sigma
  std::size_t margin = 0;   ///< samples beyond a boxcar that its refinement looks at
  std::vector<std::size_t> widths;

  std::size_t widest() const { return widths.back(); }
  std::size_t baseline() const { return segment * kWindowSegments; }
};

Sizes derive_sizes(const Config& config);

/// Config::lengths of a trial; 0: as long as the stream.
inline std::uint64_t length_of(const Config& config, std::size_t trial) {
  return config.lengths.empty() ? 0 : config.lengths[trial];
}

/// Sums (in units) at or over which each width is a detection, and S/N of one unit at each width.
/// Widths of more than half of `n`, the samples that the running mean looks at, are never one.
struct Scales {
  std::vector<std::int64_t> least_sum;
  std::vector<double> snr_per_unit;
};
inline constexpr std::int64_t kNeverReached = std::numeric_limits<std::int64_t>::max();
Scales derive_scales(const Config& config, const Sizes& sizes, std::uint64_t n);

/// The factor that makes a sum of y over w samples an S/N when divided by sigma: 1 / sqrt(w).
double snr_factor(std::uint64_t w);

/// What is added to integer sample t before the median is taken: the numbers (k + 1/2)/1024 - 1/2
/// in scattered order, again and again.
const std::vector<float>& spreading();
inline constexpr std::size_t kSpreadingPeriod = 1024;

/// Sigma from a MAD; 0 where there is no noise to speak of.
double sigma_of(double mad, SampleType type);

/// Throws Error(config).
void check_config(const Config& config);
void check_series(const Config& config, SampleType type, std::size_t trials, std::size_t samples,
                  std::ptrdiff_t time_stride, bool finished);

}  // namespace tautline::stages::detect

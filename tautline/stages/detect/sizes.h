// Sizes and constants of the search, derived from the Config: not part of the stage's interface.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "tautline/stages/detect/detect.h"

namespace tautline::stages::detect {

/// Segments of the running mean: the segment itself, and 16 on either side.
inline constexpr std::size_t kWindowSegments = 33;
/// Means of segments at either end of a stream follow a drift of more standard errors than that. Noise has as much with
/// probability 1.3e-3 (Student's t, 14 degrees of freedom), and a smaller drift moves the S/N of the widest boxcar by
/// less than 2.
inline constexpr double kDriftErrors = 4;
/// Samples are rounded to units of sigma / 1,024, which adds 8e-8 sigma^2 to their variance.
inline constexpr double kUnitsPerSigma = 1024;
/// Least samples that sigma is measured on: 16,384 give it to 0.9 %, which raises the rate of noise
/// over 4 sigma by 1 %.
inline constexpr std::size_t kNoiseSamples = 16384;
/// Of fewer samples sigma is 0, and there are no detections: the MAD of a few may be far too small.
inline constexpr std::size_t kFewestForNoise = 128;
/// MAD to standard deviation of a Gaussian.
inline constexpr double kSigmaPerMad = 1.4826;
/// Variance of spreading(), which is added to integers before their MAD is taken.
inline constexpr double kStepVariance = 1.0 / 12;

struct Sizes {
  std::size_t segment = 2;  ///< samples of a segment of the baseline, even
  std::size_t noise = 0;    ///< samples of a block, which has one sigma
  std::size_t margin = 0;   ///< samples beyond a boxcar that its refinement reads
  std::vector<std::size_t> widths;

  std::size_t widest() const { return widths.back(); }
  std::size_t baseline() const { return segment * kWindowSegments; }
  /// Samples on either side of a block that are read with it: before it by the refinement of
  /// boxcars that begin there and have their centre in the block, after it by boxcars that begin in
  /// the block and their refinement.
  std::size_t beside_block() const { return margin + widest(); }
};

Sizes derive_sizes(const Config& config);

/// A trial's Config::lengths; 0: as long as the stream.
inline std::uint64_t length_of(const Config& config, std::size_t trial) {
  return config.lengths.empty() ? 0 : config.lengths[trial];
}

/// For each width, the least sum (in units) that is over the threshold, and the S/N of one unit.
/// Widths beyond half of `n`, the samples of the running mean, are never over the threshold.
struct Scales {
  std::vector<std::int64_t> least_sum;
  std::vector<double> snr_per_unit;
};
inline constexpr std::int64_t kNeverReached = std::numeric_limits<std::int64_t>::max();
Scales derive_scales(const Config& config, const Sizes& sizes, std::uint64_t n);

/// What the plan and the states of a backend share.
struct Setting {
  explicit Setting(const Config& given)
      : config(given),
        sizes(derive_sizes(config)),
        scales(derive_scales(config, sizes, sizes.baseline())) {}
  Config config;
  Sizes sizes;
  Scales scales;  ///< for a complete window of the running mean
};

/// 1 / sqrt(w): S/N = (sum of y over w samples) / sigma x snr_factor(w).
double snr_factor(std::uint64_t w);

/// Table, of period kSpreadingPeriod in t, that is added to integer sample t before medians are
/// taken: the numbers (k + 1/2)/1024 - 1/2 in scattered order, which spread integers over their
/// step.
const std::vector<float>& spreading();
inline constexpr std::size_t kSpreadingPeriod = 1024;

/// Sigma from a MAD; 0 for integers whose MAD is that of spreading() or less.
double sigma_of(double mad, core::SampleType type);

/// Throws Error(config).
void check_config(const Config& config);

}  // namespace tautline::stages::detect

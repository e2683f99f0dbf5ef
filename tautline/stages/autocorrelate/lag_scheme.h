// Lag arithmetic shared by all backends: not part of the stage's interface.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tautline/stages/autocorrelate/autocorrelate.h"

namespace tautline::stages::autocorrelate {

/// The lags of one level: base + k window, for `steps` values of k.
struct LagRange {
  std::uint64_t window = 1;     ///< w = 2^level samples
  std::uint64_t base = 0;       ///< delay of the delayed series, in samples
  std::uint64_t whole = 0;      ///< first j whose delayed window starts at or after sample 0
  std::size_t first_steps = 0;  ///< smallest k
  std::size_t steps = 0;        ///< number of values of k
  std::size_t first_lag = 0;    ///< index of the smallest k in the lags of all levels

  /// Whether the delayed window whole - 1 starts before sample 0 and ends after it.
  bool has_lead_in() const { return base % window != 0; }
  /// Pairs of complete windows at k after `samples` samples.
  std::uint64_t pairs(std::uint64_t k, std::uint64_t samples) const {
    const std::uint64_t windows = samples / window;
    return windows > whole + k ? windows - whole - k : 0;
  }
};

inline LagRange lag_range(const Config& config, std::size_t level) {
  LagRange range;
  range.window = std::uint64_t{1} << level;
  if (config.lag_scheme == LagScheme::chain) {
    range.base = config.bins * (range.window - 1);
    range.whole = (range.base + range.window - 1) / range.window;
    range.steps = config.bins;
    range.first_lag = level * config.bins;
    return range;
  }
  range.first_steps = level == 0 ? 0 : config.bins / 2 + 1;
  range.steps = config.bins + 1 - range.first_steps;
  range.first_lag = level == 0 ? 0 : config.bins + 1 + (level - 1) * (config.bins / 2);
  return range;
}

inline std::size_t lag_count(const Config& config) {
  const LagRange last = lag_range(config, config.levels - 1);
  return last.first_lag + last.steps;
}

/// Largest value of one sample; 0 for floats, and for types that are no counts.
constexpr std::uint64_t largest_count(SampleType type) {
  return type == SampleType::u8    ? 0xff
         : type == SampleType::u16 ? 0xffff
         : type == SampleType::u32 ? 0xffffffff
                                   : 0;
}

}  // namespace tautline::stages::autocorrelate

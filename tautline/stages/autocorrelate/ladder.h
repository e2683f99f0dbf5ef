// The arithmetic of lags that every backend shares: not part of the stage's interface.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tautline/stages/autocorrelate/autocorrelate.h"

namespace tautline::stages::autocorrelate {

/// One level of a ladder.
struct Rung {
  std::uint64_t window = 1;     ///< w = 2^level samples
  std::uint64_t base = 0;       ///< samples by which the delayed series lies behind
  std::uint64_t whole = 0;      ///< first index whose delayed window starts at or after sample 0
  std::size_t first_steps = 0;  ///< smallest k
  std::size_t steps = 0;        ///< how many k
  std::size_t first_lag = 0;    ///< place of the smallest k among the lags

  /// Whether the delayed window before `whole` holds some samples.
  bool has_lead_in() const { return base % window != 0; }
  /// Pairs of whole windows at k after `samples` samples.
  std::uint64_t pairs(std::uint64_t k, std::uint64_t samples) const {
    const std::uint64_t windows = samples / window;
    return windows > whole + k ? windows - whole - k : 0;
  }
};

inline Rung rung_of(const Config& config, std::size_t level) {
  Rung rung;
  rung.window = std::uint64_t{1} << level;
  if (config.ladder == Ladder::chain) {
    rung.base = config.bins * (rung.window - 1);
    rung.whole = (rung.base + rung.window - 1) / rung.window;
    rung.steps = config.bins;
    rung.first_lag = level * config.bins;
    return rung;
  }
  rung.first_steps = level == 0 ? 0 : config.bins / 2 + 1;
  rung.steps = config.bins + 1 - rung.first_steps;
  rung.first_lag = level == 0 ? 0 : config.bins + 1 + (level - 1) * (config.bins / 2);
  return rung;
}

inline std::size_t lag_count(const Config& config) {
  const Rung last = rung_of(config, config.levels - 1);
  return last.first_lag + last.steps;
}

/// Largest value of one sample; 0 for floats.
inline std::uint64_t largest_count(CountType type) {
  switch (type) {
    case CountType::u8:
      return 0xff;
    case CountType::u16:
      return 0xffff;
    case CountType::u32:
      return 0xffffffff;
    case CountType::f32:
      break;
  }
  return 0;
}

}  // namespace tautline::stages::autocorrelate

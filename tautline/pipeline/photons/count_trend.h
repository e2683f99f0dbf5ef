// Counts whose mean falls or rises over a run, as where a dye bleaches: the size of the trend, and what it adds to g.
#pragma once

#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "tautline/core/correlation_curve.h"

namespace tautline::pipeline {

/// A parabola through the means of kTrendBlocks equal parts of a run.
struct CountTrend {
  double change =
      0;  ///< of the mean, from the first tenth of the run to the last, over that of the first
  double standard_errors = 0;  ///< the parabola's slope over its standard error, 0 or more
  std::vector<double> part;    ///< of each block: the parabola over the run's mean, less 1
};

inline constexpr std::size_t kTrendBlocks = 20;
/// docs/maths/autocorrelate.md has the rate of false alarms.
inline constexpr double kTrendStandardErrors = 8;

/// `rates` in steps of equal length. None where there are fewer than kTrendBlocks of them, or no counts.
std::optional<CountTrend> trend_of(std::span<const double> rates);

/// A warning where trends of curves add more to g than its standard error at the longest lags; empty: there is none, or
/// nothing to judge by. Curves of signals named in `stopped` are left out.
std::string trend_warning(const core::CorrelationCurves& curves,
                          const std::set<std::string>& stopped);

}  // namespace tautline::pipeline

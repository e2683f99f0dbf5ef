// A change of level in a series that fluctuates, as the count rate of diffusing molecules does.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace tautline::pipeline {

/// The values [first, end), which are at another level than the rest; one of them is an end of the series where the
/// level steps once.
struct LevelStretch {
  std::size_t first = 0, end = 0;
};

/// The stretch that differs most from the rest, by what fluctuations would do once in a thousand series at most
/// (docs/maths/autocorrelate.md). None in series of fewer than 64 values, nor of a drift.
std::optional<LevelStretch> changed_stretch(std::span<const double> values);

}  // namespace tautline::pipeline

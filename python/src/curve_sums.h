// Memory for everything that an autocorrelator's state gives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tautline/stages/autocorrelate/autocorrelate.h"

namespace tautline::python {

/// Sums of 8 bytes: int64, or double for float counts.
struct CurveSums {
  explicit CurveSums(const stages::autocorrelate::Config& config)
      : type(config.sums_type()),
        pairs(config.pair_count()),
        lags(stages::autocorrelate::lags_of(config).size()),
        sums((4 * lags + 2) * pairs),
        counts(lags) {}

  stages::autocorrelate::Sums views() {
    auto view = [this, next = sums.data()](std::size_t columns) mutable {
      const core::MutableSampleView<2> one(next, type, {pairs, columns});
      next += pairs * columns;
      return one;
    };
    return {view(lags), view(lags), view(lags), view(lags), view(2), counts};
  }

  core::SampleType type;
  std::size_t pairs, lags;
  std::vector<std::uint64_t> sums;
  std::vector<std::int64_t> counts;  // [lag]
};

}  // namespace tautline::python

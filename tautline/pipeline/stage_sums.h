// Memory for everything that an autocorrelator's state gives: sums, monitors, totals and counts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tautline/core/view.h"
#include "tautline/stages/autocorrelate/autocorrelate.h"

namespace tautline::pipeline {

/// Value is int64, or double for float counts. Not copied: the views point into the arrays.
template <class Value>
struct StageSums {
  StageSums(std::size_t pairs, std::size_t lags)
      : sums(pairs * lags),
        lead_in(pairs * lags),
        direct(pairs * lags),
        delayed(pairs * lags),
        totals(pairs * 2),
        counts(lags),
        views{view(sums, pairs, lags),    view(lead_in, pairs, lags), view(direct, pairs, lags),
              view(delayed, pairs, lags), view(totals, pairs, 2),     counts} {}
  StageSums(const StageSums&) = delete;
  StageSums& operator=(const StageSums&) = delete;

  static core::View<Value, 2> view(std::vector<Value>& values, std::size_t rows,
                                   std::size_t columns) {
    return {values.data(), {rows, columns}};
  }

  /// What the state has by now; waits for it.
  void read(const stages::autocorrelate::Plan& plan, device::Queue& queue,
            const stages::autocorrelate::State& state) {
    plan.read(queue, state, views);
    queue.synchronise();
  }

  /// These become what `later` has more.
  void subtract_from(const StageSums& later) {
    const auto subtract = [](auto& from, const auto& value) {
      for (std::size_t i = 0; i < from.size(); ++i) from[i] = value[i] - from[i];
    };
    subtract(sums, later.sums);
    subtract(lead_in, later.lead_in);
    subtract(direct, later.direct);
    subtract(delayed, later.delayed);
    subtract(totals, later.totals);
    subtract(counts, later.counts);
  }

  /// Hands every array to archive(vector), which writes or reads it.
  template <class Archive>
  void exchange(Archive& archive) {
    for (auto* values : {&sums, &lead_in, &direct, &delayed, &totals}) archive(*values);
    archive(counts);
  }

  std::vector<Value> sums, lead_in, direct, delayed, totals;
  std::vector<std::int64_t> counts;
  stages::autocorrelate::Sums<Value> views;
};

}  // namespace tautline::pipeline

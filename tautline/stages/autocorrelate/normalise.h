// Correlation functions from sums and monitors (docs/maths/autocorrelate.md).
//
// | buffer                  | axes        | type          | written                        |
// | sums, lead_in, monitors | [pair][lag] | int64, double | read                           |
// | totals                  | [pair][2]   | int64, double | read for `global`              |
// | counts                  | [lag]       | int64         | read; empty: pairs_at(samples) |
// | g                       | [pair][lag] | double        | overwritten                    |
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tautline/core/correlation_curve.h"
#include "tautline/core/view.h"
#include "tautline/stages/autocorrelate/autocorrelate.h"

namespace tautline::stages::autocorrelate {

/// One pair's sums at one lag, over pairs of complete windows.
template <class Value>
struct LagMoments {
  Value sum{};  ///< without the lead-in
  Value direct{}, delayed{};
  std::int64_t pairs = 0;
};

/// g at one lag. `mean_a` and `mean_b` are the means of the level's samples over the whole run,
/// used by `global` only. NaN where g is undefined: no pairs, or a mean of zero.
template <class Value>
double normalise(core::Normalization how, const LagMoments<Value>& moments, long double mean_a,
                 long double mean_b);

/// g of every pair and lag from the sums of a run (Plan::read) or of a segment of a run (the
/// difference of two reads). `samples` is the length of the run or segment, and `counts` the number
/// of pairs in the sums: a segment's pairs include windows from before the segment, so their number
/// exceeds pairs_at(samples). Throws Error(config) when a needed view is empty, and when `counts`
/// is neither empty nor one for each lag.
void normalise(const Config& config, core::Normalization how, std::uint64_t samples,
               const Sums& sums, const core::View<double, 2>& g);

/// The same of a segment whose sums, monitors and totals are what they have grown by from `before` to `later`, two
/// reads of one state; `counts` has the pairs that came in between.
void normalise_growth(const Config& config, core::Normalization how, std::uint64_t samples,
                      const Sums& before, const Sums& later, std::span<const std::int64_t> counts,
                      const core::View<double, 2>& g);

/// Standard errors from segments that were normalised one by one. The weight of a segment is its
/// number of pairs; the first segment has fewer because its delayed windows start before the run.
class SegmentScatter {
 public:
  SegmentScatter(std::size_t pairs, std::size_t lags)
      : used_(pairs * lags), weight_(pairs * lags), mean_(pairs * lags), squares_(pairs * lags) {}
  /// g of one more segment, [pair][lag], and its pairs, [lag].
  void add(std::span<const double> g, std::span<const std::int64_t> counts);
  std::size_t segments() const { return segments_; }
  /// sqrt(sum N_k (g_k - mean)^2 / ((K - 1) sum N_k)), the mean weighted too, over the K segments whose g is not NaN;
  /// NaN with fewer than two of them or than half of all, and where a segment had no pairs.
  std::vector<double> standard_error() const;

 private:
  std::size_t segments_ = 0;
  std::vector<std::uint32_t> used_;
  std::vector<double> weight_, mean_, squares_;
};

/// g with the product of means taken segment by segment, which corrects for bleaching.
class Detrender {
 public:
  Detrender(std::size_t pairs, std::size_t lags) : sums_(pairs * lags), expected_(pairs * lags) {}
  void add(const Sums& segment);
  /// sum of S / sum of (M_A M_B / N) - 1; NaN where that is undefined.
  std::vector<double> g() const;

 private:
  std::vector<long double> sums_, expected_;
};

}  // namespace tautline::stages::autocorrelate

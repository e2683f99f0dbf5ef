// Correlation curves as plain data: stages make them, files and fits take them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tautline::core {

/// How `g` was made from sums and monitors (docs/maths/autocorrelate.md).
enum class Normalization {
  none,      ///< g holds the unnormalised sums over whole pairs
  global,    ///< by the means of the whole run
  symmetric  ///< by both monitors of each lag
};

/// "none", "global" or "symmetric", as files and options name it.
constexpr const char* to_string(Normalization normalization) {
  switch (normalization) {
    case Normalization::none:
      return "none";
    case Normalization::global:
      return "global";
    case Normalization::symmetric:
      break;
  }
  return "symmetric";
}

/// The normalisation of that name, if there is one.
constexpr std::optional<Normalization> parse_normalization(std::string_view name) {
  for (const auto one : {Normalization::none, Normalization::global, Normalization::symmetric})
    if (name == to_string(one)) return one;
  return std::nullopt;
}

/// A count rate over time, for plots and for judging bleaching.
struct RateTrace {
  std::vector<double> time_s;    ///< middle of each step
  std::vector<double> rate_khz;  ///< thousands of counts a second
};

/// One signal of a curve.
struct CurveSignal {
  std::string label;      ///< "sensor 12", "detector 0"; may be empty
  std::int64_t row = -1;  ///< of the pixel; -1 where there is no shape
  std::int64_t column = -1;
  double mean_rate_hz = 0;  ///< counts a second over the whole run; NaN where unknown
  RateTrace trace;          ///< may be empty
};

/// One correlation curve, in increasing lag. Positive lag: the second signal is later.
///
/// | field           | unit           | missing                                          |
/// | lag_s, g        | s, 1           | g is NaN where it is undefined                   |
/// | standard_error  | unit of g      | empty: unknown; NaN: lag longer than a segment   |
/// | lag_samples     | bins           | empty for curves read from other programs' files |
/// | sums, monitors  | counts^2, counts | the same                                       |
/// | counts          | pairs          | the same; 0 where the lag is longer than the run |
struct CorrelationCurve {
  bool cross = false;         ///< of two different signals
  CurveSignal first, second;  ///< of an autocorrelation `second` is left empty
  std::vector<double> lag_s, g, standard_error;
  std::vector<std::uint64_t> lag_samples;
  std::vector<double> sums, counts, monitor_direct, monitor_delayed;
  double bin_s = 0, duration_s = 0;  ///< 0 where unknown
  Normalization normalization = Normalization::symmetric;
  bool detrended = false;  ///< g was corrected for bleaching; sums never are
};

/// Curves of many sensors or pairs over the same lags, as flat arrays [curve][lag]. Integers are
/// exact; for float input the sums and monitors are in the *_float arrays and the others empty.
struct CorrelationCurves {
  std::size_t curves = 0, lags = 0;
  bool cross = false;
  double bin_s = 0, duration_s = 0;
  std::uint64_t samples = 0;  ///< bins in the run
  Normalization normalization = Normalization::symmetric;
  bool detrended = false;
  std::vector<double> lag_s;               ///< [lag]
  std::vector<std::uint64_t> lag_samples;  ///< [lag]
  std::vector<std::int64_t> counts;        ///< [lag] pairs, the same for all curves
  std::vector<std::int64_t> sums, monitor_direct, monitor_delayed;              ///< [curve][lag]
  std::vector<double> sums_float, monitor_direct_float, monitor_delayed_float;  ///< [curve][lag]
  /// The part of the sums that counts and monitors leave out: sums - lead_in is normalised.
  std::vector<std::int64_t> lead_in;   ///< [curve][lag]
  std::vector<double> lead_in_float;   ///< [curve][lag]
  std::vector<std::int64_t> totals;    ///< [curve][2], of both signals over the whole run
  std::vector<double> totals_float;    ///< [curve][2]
  std::vector<double> g;               ///< [curve][lag], NaN where undefined
  std::vector<double> standard_error;  ///< [curve][lag] or empty
  /// g of each segment alone, [segment][curve][lag]: gives the covariance of errors at different
  /// lags. Empty where there are no segments, or too many to keep.
  std::size_t segments = 0;
  std::uint64_t segment_samples = 0;  ///< bins of each
  std::vector<float> segment_g;
  std::vector<std::int64_t> segment_counts;  ///< [segment][lag] pairs, as `counts`; empty: unknown
  std::vector<CurveSignal> first, second;    ///< [curve]; `second` empty for autocorrelations
  std::vector<std::uint8_t> mask;            ///< [curve] 1 = good; empty: all good

  /// A copy of one curve.
  CorrelationCurve curve(std::size_t index) const;
};

inline CorrelationCurve CorrelationCurves::curve(std::size_t index) const {
  const auto row = [&](const auto& from, std::vector<double>& to) {
    if (from.empty()) return;
    for (std::size_t l = 0; l < lags; ++l)
      to.push_back(static_cast<double>(from[index * lags + l]));
  };
  CorrelationCurve one;
  one.cross = cross;
  if (index < first.size()) one.first = first[index];
  if (index < second.size()) one.second = second[index];
  one.lag_s = lag_s;
  one.lag_samples = lag_samples;
  one.counts.assign(counts.begin(), counts.end());
  row(g, one.g);
  row(standard_error, one.standard_error);
  row(sums, one.sums);
  row(sums_float, one.sums);
  row(monitor_direct, one.monitor_direct);
  row(monitor_direct_float, one.monitor_direct);
  row(monitor_delayed, one.monitor_delayed);
  row(monitor_delayed_float, one.monitor_delayed);
  one.bin_s = bin_s;
  one.duration_s = duration_s;
  one.normalization = normalization;
  one.detrended = detrended;
  return one;
}

}  // namespace tautline::core

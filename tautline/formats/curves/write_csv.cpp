#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <system_error>

#include "tautline/core/curve_label.h"
#include "tautline/core/error.h"
#include "tautline/formats/curves/curves.h"
#include "tautline/formats/partial_file.h"

namespace tautline::formats::curves {

namespace {

// PyCorrFit splits lines at commas and keeps the first part, and it needs no comment that may have a comma. But a
// double quote behind a comma would begin a quoted part that extends over the next lines.
std::string comment(std::string_view text) {
  std::string made;
  for (const char c : text) made += c == '\n' || c == '\r' || c == '\t' ? ' ' : c == '"' ? '\'' : c;
  return made;
}

// The standard error that is written: where all segments agree to the last digit (no coincidence in
// any), that of one coincidence. NaN where it is unknown.
double written_error(const core::CorrelationCurve& curve, std::size_t lag) {
  const double error = curve.standard_error[lag];
  if (error != 0 || lag >= curve.monitor_direct.size() || lag >= curve.monitor_delayed.size() ||
      lag >= curve.counts.size())
    return error > 0 ? error : std::nan("");
  const double one = curve.counts[lag] / (curve.monitor_direct[lag] * curve.monitor_delayed[lag]);
  return one > 0 && std::isfinite(one) ? one : std::nan("");
}

std::string header(const core::CorrelationCurve& curve, std::string_view title,
                   const CurvesFacts& facts) {
  std::string text = "# This file holds one correlation curve: comments begin with '#'\n";
  text += fmt::format("# {}\n", comment(facts.history));
  text += fmt::format("# filename/title\t{}\n", comment(title));
  text += fmt::format("# Type AC/CC\t{}\n", curve.cross ? "Cross-correlation" : "Autocorrelation");
  text += fmt::format("# Normalization\t{}{}\n", core::to_string(curve.normalization),
                      curve.detrended ? "; detrended" : "");
  text += fmt::format("# duration [s]\t{:.10g}\n", curve.duration_s);
  text += fmt::format("# bin [s]\t{:.10g}\n", curve.bin_s);
  if (std::isfinite(curve.first.mean_rate_hz))
    text += fmt::format("# mean rate [Hz]\t{:.10g}\n", curve.first.mean_rate_hz);
  if (curve.cross && std::isfinite(curve.second.mean_rate_hz))
    text += fmt::format("# mean rate of the second [Hz]\t{:.10g}\n", curve.second.mean_rate_hz);
  for (const auto& [name, value] : facts.extra)
    text += fmt::format("# {}\t{}\n", comment(name), comment(value));
  return text;
}

// Lag 0 has no place on a logarithmic axis, and where g is undefined there is no point.
bool drawn(const core::CorrelationCurve& curve, std::size_t lag) {
  return curve.lag_s[lag] > 0 && std::isfinite(curve.g[lag]);
}

// PyCorrFit wants weights in all lines of a curve or in none.
bool has_weights(const core::CorrelationCurve& curve) {
  if (curve.standard_error.size() != curve.g.size()) return false;
  for (std::size_t l = 0; l < curve.g.size(); ++l)
    if (drawn(curve, l) && written_error(curve, l) > 0) return true;
  return false;
}

struct Rows {
  std::string text;
  std::size_t lags = 0;
};

Rows rows_of(const core::CorrelationCurve& curve, bool weighted) {
  Rows rows;
  for (std::size_t l = 0; l < curve.lag_s.size(); ++l) {
    const double error = weighted ? written_error(curve, l) : 1;
    if (!drawn(curve, l) || !std::isfinite(error)) continue;
    rows.text += fmt::format("{:.10e}\t{:.10e}", curve.lag_s[l], curve.g[l]);
    if (weighted) rows.text += fmt::format("\t{:.10e}\t{:.10e}\t{:.10e}", 0.0, 0.0, error);
    rows.text += '\n';
    ++rows.lags;
  }
  return rows;
}

// The lines of a curve that is undefined at every lag. PyCorrFit passes over such lines, but fails on a file without
// any line, and on an archive with such a file.
std::string undefined_rows(const core::CorrelationCurve& curve) {
  std::string text;
  for (const double lag_s : curve.lag_s)
    if (lag_s > 0) text += fmt::format("{:.10e}\tnan\n", lag_s);
  if (text.empty())
    throw core::Error(core::ErrorKind::unsupported, "curve in a CSV", "no lag above 0",
                      "one or more: lag 0 has no place on a logarithmic axis",
                      "take more `bins` or `levels`, or write .h5");
  return text;
}

}  // namespace

std::string csv_text(const core::CorrelationCurve& curve, std::string_view title,
                     const CurvesFacts& facts) {
  const bool weighted = has_weights(curve);
  const Rows rows = rows_of(curve, weighted);
  std::string text = header(curve, title, facts);
  if (rows.lags == 0) {
    text += "# G is undefined at every lag\n# Lag time [s]\tExperimental correlation\n";
    text += undefined_rows(curve);
  } else {
    const auto above_zero = static_cast<std::size_t>(std::count_if(
        curve.lag_s.begin(), curve.lag_s.end(), [](double lag_s) { return lag_s > 0; }));
    text += fmt::format("# lags left out (undefined or without a standard error)\t{}\n",
                        above_zero - rows.lags);
    text += "# Lag time [s]\tExperimental correlation";
    if (weighted) text += "\tFitted correlation\tResiduals\tWeights [standard error]";
    text += '\n' + rows.text;
  }
  return text;
}

std::string table_text(const core::CorrelationCurve& curve, std::string_view title,
                       const CurvesFacts& facts) {
  const bool errors = curve.standard_error.size() == curve.g.size();
  std::string text = header(curve, title, facts);
  text += fmt::format("{}{}\n", kTableHeading, errors ? ",standard_error" : "");
  for (std::size_t l = 0; l < curve.lag_s.size(); ++l) {
    text += fmt::format("{:.10e},{:.10e}", curve.lag_s[l], curve.g[l]);
    if (errors) text += fmt::format(",{:.10e}", written_error(curve, l));
    text += '\n';
  }
  return text;
}

std::string trace_text(const core::CorrelationCurve& curve, std::string_view title) {
  const core::RateTrace &first = curve.first.trace, &second = curve.second.trace;
  if (first.time_s.empty()) return {};
  const bool both = curve.cross && second.time_s.size() == first.time_s.size();
  std::string text =
      fmt::format("# Intensity over time of {}: this is not correlation data\n", comment(title));
  text += fmt::format("# Time [s]\tIntensity [kHz]{}\n", both ? "\tof the second [kHz]" : "");
  for (std::size_t n = 0; n < first.time_s.size(); ++n) {
    text += fmt::format("{:.10e}\t{:.10e}", first.time_s[n], first.rate_khz[n]);
    if (both) text += fmt::format("\t{:.10e}", second.rate_khz[n]);
    text += '\n';
  }
  return text;
}

void write_csv(const std::string& path, const core::CorrelationCurve& curve,
               const CurvesFacts& facts, bool overwrite) {
  const std::string title = core::label_of(curve), trace = trace_text(curve, title);
  PartialFile file(path, overwrite);
  file.write(path.ends_with(kTableEnding) ? table_text(curve, title, facts)
                                          : csv_text(curve, title, facts));
  if (trace.empty()) {
    std::error_code none;  // an older curve's trace would be taken for this curve's
    if (overwrite) std::filesystem::remove(trace_path(path), none);
  } else {
    PartialFile beside(trace_path(path), overwrite);
    beside.write(trace);
    beside.finish();
  }
  file.finish();
}

}  // namespace tautline::formats::curves

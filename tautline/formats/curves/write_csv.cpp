#include <fmt/format.h>

#include <cmath>
#include <string>

#include "tautline/formats/curves/curves.h"
#include "tautline/formats/partial_file.h"

namespace tautline::formats::curves {

namespace {

// PyCorrFit splits lines at commas and takes the first part: a comment keeps none.
std::string comment(std::string_view text) {
  std::string made;
  for (const char c : text) made += c == '\n' || c == '\r' || c == '\t' ? ' ' : c == ',' ? ';' : c;
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

void append_trace(std::string& text, const char* title, const core::RateTrace& trace) {
  text += fmt::format("# {}\n# Time [s]\tIntensity trace [kHz]\n", title);
  for (std::size_t n = 0; n < trace.time_s.size(); ++n)
    text += fmt::format("{:.10e}\t{:.10e}\n", trace.time_s[n], trace.rate_khz[n]);
}

std::string header(const core::CorrelationCurve& curve, std::string_view title,
                   std::string_view history, std::size_t left_out) {
  std::string text = "# This file holds one correlation curve: comments begin with '#'\n";
  text += fmt::format("# {}\n", comment(history));
  text += fmt::format("# filename/title\t{}\n", comment(title));
  text += fmt::format("# Type AC/CC\t{}\n", curve.cross ? "Cross-correlation" : "Autocorrelation");
  text += fmt::format("# Normalization\t{}{}\n", core::to_string(curve.normalization),
                      curve.detrended ? "; detrended" : "");
  text += fmt::format("# duration [s]\t{:.10g}\n", curve.duration_s);
  text += fmt::format("# bin [s]\t{:.10g}\n", curve.bin_s);
  text += fmt::format("# lags left out (undefined or without a standard error)\t{}\n", left_out);
  return text;
}

}  // namespace

std::string csv_text(const core::CorrelationCurve& curve, std::string_view title,
                     std::string_view history) {
  const bool weighted = curve.standard_error.size() == curve.g.size() && [&] {
    for (std::size_t l = 0; l < curve.g.size(); ++l)
      if (written_error(curve, l) > 0) return true;
    return false;
  }();
  std::string rows;
  std::size_t left_out = 0;
  for (std::size_t l = 0; l < curve.lag_s.size(); ++l) {
    if (!(curve.lag_s[l] > 0)) continue;
    const double error = weighted ? written_error(curve, l) : 1;
    if (!std::isfinite(curve.g[l]) || !std::isfinite(error)) {
      ++left_out;
      continue;
    }
    rows += fmt::format("{:.10e}\t{:.10e}", curve.lag_s[l], curve.g[l]);
    if (weighted) rows += fmt::format("\t{:.10e}\t{:.10e}\t{:.10e}", 0.0, 0.0, error);
    rows += '\n';
  }
  std::string text = header(curve, title, history, left_out);
  text += "# Lag time [s]\tExperimental correlation";
  if (weighted) text += "\tFitted correlation\tResiduals\tWeights [standard error]";
  text += '\n' + rows;
  if (!curve.first.trace.time_s.empty()) append_trace(text, "BEGIN TRACE", curve.first.trace);
  if (curve.cross && !curve.second.trace.time_s.empty())
    append_trace(text, "BEGIN SECOND TRACE", curve.second.trace);
  return text;
}

void write_csv(const std::string& path, const core::CorrelationCurve& curve,
               std::string_view history, bool overwrite) {
  PartialFile file(path, overwrite);
  file.write(csv_text(curve, curve.first.label, history));
  file.finish();
}

}  // namespace tautline::formats::curves

// PyCorrFit's CSV: comments that begin with #, then lag (s) and G, then traces.
#include <cmath>
#include <limits>

#include "tautline/formats/curves/curves.h"
#include "tautline/formats/input_file.h"
#include "tautline/formats/text.h"

namespace tautline::formats::curves {

namespace {

constexpr std::string_view kSeparators = " \t,;";

bool has_prefix(std::string_view text, std::string_view prefix) {
  return lower(text.substr(0, prefix.size())) == lower(prefix);
}

enum class Part { curve, first_trace, second_trace };

// Adds one line of numbers to the part of the curve that it belongs to.
void add_row(core::CorrelationCurve& curve, Part part, const std::vector<double>& row) {
  if (part == Part::curve) {
    curve.lag_s.push_back(row[0]);
    curve.g.push_back(row[1]);
    // Five columns: the last one is the weight, a standard error.
    if (row.size() == 5)
      curve.standard_error.push_back(row[4] > 0 ? row[4]
                                                : std::numeric_limits<double>::quiet_NaN());
    return;
  }
  core::RateTrace& trace = part == Part::first_trace ? curve.first.trace : curve.second.trace;
  trace.time_s.push_back(row[0]);
  trace.rate_khz.push_back(row[1]);
}

double mean_hz(const core::RateTrace& trace) {
  if (trace.rate_khz.empty()) return std::numeric_limits<double>::quiet_NaN();
  double sum = 0;
  for (const double rate : trace.rate_khz) sum += rate;
  return 1e3 * sum / static_cast<double>(trace.rate_khz.size());
}

// "# KEY<TAB>VALUE" lines, and those that decide the type.
void read_comment(std::string_view line, core::CorrelationCurve& curve, CurveFile& file) {
  const std::string_view text = trim(line.substr(1));
  const std::size_t tab = text.find('\t');
  if (tab == std::string_view::npos) return;
  const std::string_view key = trim(text.substr(0, tab)), value = trim(text.substr(tab + 1));
  if (has_prefix(key, "Type AC/CC")) curve.cross = has_prefix(value, "Cross");
  if (has_prefix(key, "filename/title")) curve.first.label = value;
  if (has_prefix(key, "Normalization")) {
    curve.normalization = core::parse_normalization(trim(value.substr(0, value.find(';'))))
                              .value_or(core::Normalization::symmetric);
    curve.detrended = value.find("detrended") != std::string_view::npos;
  }
  if (has_prefix(key, "duration [s]")) curve.duration_s = number(value).value_or(0);
  if (file.facts.size() < 100) file.facts.emplace(key, value);
}

}  // namespace

CurveFile read_csv(const std::string& path) {
  CurveFile file;
  file.format = "PyCorrFit CSV";
  core::CorrelationCurve curve;
  Part part = Part::curve;
  const auto lines = read_lines(path);
  for (std::size_t n = 0; n < lines.size(); ++n) {
    const std::string_view line = trim(lines[n]);
    if (line.empty()) continue;
    if (line.front() == '#') {
      if (has_prefix(line, "# BEGIN TRACE"))
        part = Part::first_trace;
      else if (has_prefix(line, "# BEGIN SECOND TRACE"))
        part = Part::second_trace;
      else if (part == Part::curve)
        read_comment(line, curve, file);
      continue;
    }
    const std::vector<double> row = numbers(line, kSeparators);
    if (row.size() < 2)
      throw format_error(path, "line " + std::to_string(n + 1), std::string(line.substr(0, 60)),
                         "two numbers or more, lag (s) and G",
                         "is this a correlation curve as PyCorrFit writes it?");
    add_row(curve, part, row);
  }
  if (curve.lag_s.empty()) throw format_error(path, "curve", "no lags", "lines of lag (s) and G");
  if (curve.standard_error.size() != curve.g.size()) curve.standard_error.clear();
  curve.first.mean_rate_hz = mean_hz(curve.first.trace);
  curve.second.mean_rate_hz = mean_hz(curve.second.trace);
  file.curves.push_back(std::move(curve));
  return file;
}

}  // namespace tautline::formats::curves

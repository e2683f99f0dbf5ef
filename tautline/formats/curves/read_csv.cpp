// PyCorrFit's CSV: comments that begin with #, then lag (s) and G, then traces. Tables have a line with the names of
// their columns, too.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>

#include "tautline/formats/curves/curves.h"
#include "tautline/formats/input_file.h"
#include "tautline/formats/seeming_kind.h"
#include "tautline/formats/text.h"

namespace tautline::formats::curves {

namespace {

constexpr std::size_t kMostTraceBytes = std::size_t{64} << 20;
constexpr std::string_view kSeparators = " \t,;";

bool has_prefix(std::string_view text, std::string_view prefix) {
  return lower(text.substr(0, prefix.size())) == lower(prefix);
}

enum class Part { curve, first_trace, second_trace };

// Adds one line of numbers to the part of the curve that it belongs to. Lines of `with_error` columns end with a
// standard error.
void add_row(core::CorrelationCurve& curve, Part part, const std::vector<double>& row,
             std::size_t with_error) {
  if (part == Part::curve) {
    curve.lag_s.push_back(row[0]);
    curve.g.push_back(row[1]);
    if (row.size() == with_error)
      curve.standard_error.push_back(row.back() > 0 ? row.back()
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

// The title of a cross-correlation has the names of both signals; rates that no comment gives come from the traces.
void name_signals(core::CorrelationCurve& curve) {
  constexpr std::string_view kBetween = " x ";
  if (const std::size_t at = curve.first.label.find(kBetween);
      curve.cross && at != std::string::npos) {
    curve.second.label = curve.first.label.substr(at + kBetween.size());
    curve.first.label.resize(at);
  }
  for (core::CurveSignal* signal : {&curve.first, &curve.second})
    if (!signal->trace.time_s.empty() && std::isnan(signal->mean_rate_hz))
      signal->mean_rate_hz = mean_hz(signal->trace);
}

// "# KEY<TAB>VALUE" lines, and the lines that decide the type.
void read_comment(std::string_view line, core::CorrelationCurve& curve, CurveFile& file) {
  const std::string_view text = trim(line.substr(1));
  const std::size_t tab = text.find('\t');
  if (tab == std::string_view::npos) return;
  const std::string_view key = trim(text.substr(0, tab)), value = trim(text.substr(tab + 1));
  if (has_prefix(key, "Type AC/CC")) curve.cross = has_prefix(value, "Cross");
  if (has_prefix(key, "filename/title")) curve.first.label = value;
  if (has_prefix(key, "mean rate [Hz]")) curve.first.mean_rate_hz = number(value).value_or(0);
  if (has_prefix(key, "mean rate of the second [Hz]"))
    curve.second.mean_rate_hz = number(value).value_or(0);
  if (has_prefix(key, "Normalization")) {
    curve.normalization = core::parse_normalization(trim(value.substr(0, value.find(';'))))
                              .value_or(core::Normalization::symmetric);
    curve.detrended = value.find("detrended") != std::string_view::npos;
  }
  if (has_prefix(key, "duration [s]")) curve.duration_s = number(value).value_or(0);
  if (file.facts.size() < 100) file.facts.emplace(key, value);
}

std::string what_it_may_be(const std::string& path) {
  const std::string commands = commands_for(path);
  return commands.empty() ? "is this a correlation curve as PyCorrFit writes it?" : commands;
}

// "Lag time [s],G": several fields, none of which is a number.
bool is_heading(std::string_view line) {
  const auto fields = split(line, kSeparators);
  return fields.size() > 1 && std::ranges::none_of(fields, [](std::string_view field) {
           return number(field).has_value();
         });
}

// Text of a known kind that is no curve.
void refuse_other_table(const std::string& path) {
  if (is_known_text(path) && commands_for(path).find("correlation curve") == std::string::npos)
    throw other_kind(path, "a correlation curve", "");
}

// "0,498" in a line whose fields are separated otherwise; among commas alone a field as "000001".
bool has_decimal_comma(std::string_view line) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto fields = split(line, " \t;");
  if (fields.size() < 2)
    return std::ranges::any_of(split(line, ","), [&](std::string_view field) {
      return field.size() > 1 && field.front() == '0' && std::ranges::all_of(field, is_digit);
    });
  return std::ranges::any_of(fields, [&](std::string_view field) {
    if (field.starts_with('-') || field.starts_with('+')) field.remove_prefix(1);
    const std::size_t comma = field.find(',');
    if (comma == std::string_view::npos || comma == 0 || comma + 1 == field.size()) return false;
    return std::ranges::all_of(field.substr(0, comma), is_digit) && is_digit(field[comma + 1]) &&
           field.find(',', comma + 1) == std::string_view::npos && number(field.substr(comma + 1));
  });
}

// Taken for separators, decimal commas make numbers of their digits.
void refuse_decimal_comma(const std::string& path, std::size_t line, std::string_view text) {
  if (has_decimal_comma(text))
    throw format_error(path, "line " + std::to_string(line), std::string(text.substr(0, 60)),
                       "numbers with a decimal point",
                       "this has decimal commas: replace each by a point");
}

CurveFile read_lines_of_csv(const std::string& path, const std::vector<std::string>& lines) {
  CurveFile file;
  file.format = "PyCorrFit CSV";
  core::CorrelationCurve curve;
  curve.first.mean_rate_hz = curve.second.mean_rate_hz = std::numeric_limits<double>::quiet_NaN();
  Part part = Part::curve;
  std::size_t with_error = 5;  // lag, G, fit, residual, weight
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
    if (curve.lag_s.empty() && line.starts_with(kTableHeading)) {
      file.format = "CSV table";
      with_error = 3;
      continue;
    }
    refuse_decimal_comma(path, n + 1, line);
    const std::vector<double> row = numbers(line, kSeparators);
    if (row.size() < 2 && curve.lag_s.empty()) refuse_other_table(path);
    if (row.size() < 2)
      throw format_error(path, "line " + std::to_string(n + 1), std::string(line.substr(0, 60)),
                         "two numbers or more, lag (s) and G",
                         curve.lag_s.empty() && is_heading(line) && commands_for(path).empty()
                             ? "names of columns stand behind #, or are lag_s,g,standard_error"
                             : what_it_may_be(path));
    add_row(curve, part, row, with_error);
  }
  if (curve.lag_s.empty()) throw format_error(path, "curve", "no lags", "lines of lag (s) and G");
  if (curve.standard_error.size() != curve.g.size()) curve.standard_error.clear();
  name_signals(curve);
  file.curves.push_back(std::move(curve));
  return file;
}

}  // namespace

CurveFile read_csv(const std::string& path) {
  CurveFile file = read_lines_of_csv(path, read_lines(path));
  core::CorrelationCurve& curve = file.curves.front();
  const std::string beside = trace_path(path);
  if (curve.first.trace.time_s.empty() && std::filesystem::exists(beside)) {
    const auto bytes = InputFile(beside).head(kMostTraceBytes);
    read_trace_text(beside, {reinterpret_cast<const char*>(bytes.data()), bytes.size()}, curve);
  }
  return file;
}

CurveFile read_csv_text(const std::string& path, std::string_view text) {
  return read_lines_of_csv(path, lines_of(path, text));
}

std::string trace_path(const std::string& csv_path) {
  const bool csv = lower(csv_path).ends_with(".csv");
  return csv_path.substr(0, csv_path.size() - (csv ? 4 : 0)) + ".trace.txt";
}

void read_trace_text(const std::string& path, std::string_view text,
                     core::CorrelationCurve& curve) {
  const auto lines = lines_of(path, text);
  for (std::size_t n = 0; n < lines.size(); ++n) {
    const std::string_view line = trim(lines[n]);
    if (line.empty() || line.front() == '#') continue;
    refuse_decimal_comma(path, n + 1, line);
    const std::vector<double> row = numbers(line, kSeparators);
    if (row.size() != (curve.cross ? 3 : 2))
      throw format_error(path, "line " + std::to_string(n + 1), std::string(line.substr(0, 60)),
                         "seconds, then kHz of each signal");
    curve.first.trace.time_s.push_back(row[0]);
    curve.first.trace.rate_khz.push_back(row[1]);
    if (!curve.cross) continue;
    curve.second.trace.time_s.push_back(row[0]);
    curve.second.trace.rate_khz.push_back(row[2]);
  }
}

}  // namespace tautline::formats::curves

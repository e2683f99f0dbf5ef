// ALV's .ASC: "key : value" lines, then tables behind their titles in quotes: "Correlation" (lag in
// ms, then four columns of G decaying to 0), "Count Rate" (s, kHz), "StandardDeviation" (lag in
// ms).
#include <limits>

#include "tautline/formats/curves/curves.h"
#include "tautline/formats/input_file.h"
#include "tautline/formats/text.h"

namespace tautline::formats::curves {

namespace {

constexpr double kSecondsPerMillisecond = 1e-3;

struct Tables {
  std::vector<std::vector<double>> correlation, rate, deviation;
};

// The curves that a mode such as "A-CH0+1  C-CH0/1+1/0" names, in the order of the columns.
struct Named {
  int first = 0, second = 0;
};

std::vector<Named> curves_of(std::string_view mode) {
  std::vector<Named> found;
  const std::string text = lower(mode);
  for (const std::string_view part : split(text, " \t\",")) {
    const bool automatic = part.starts_with("a-ch"), cross = part.starts_with("c-ch");
    if (!automatic && !cross) continue;
    for (const std::string_view one : split(part.substr(4), "+")) {
      const auto channels = numbers(one, "/");
      if (automatic && channels.size() == 1)
        found.push_back({static_cast<int>(channels[0]), static_cast<int>(channels[0])});
      if (cross && channels.size() == 2)
        found.push_back({static_cast<int>(channels[0]), static_cast<int>(channels[1])});
    }
  }
  return found;
}

void read_line(std::string_view line, CurveFile& file) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return;
  std::string_view value = trim(line.substr(colon + 1));
  if (value.size() >= 2 && value.front() == '"' && value.back() == '"')
    value = trim(value.substr(1, value.size() - 2));
  file.facts.emplace(trim(line.substr(0, colon)), value);
}

Tables read_tables(const std::string& path, CurveFile& file) {
  Tables tables;
  std::vector<std::vector<double>>* table = nullptr;
  bool head = true;
  const auto lines = read_lines(path);
  for (std::size_t n = 0; n < lines.size(); ++n) {
    const std::string_view line = trim(lines[n]);
    if (line.empty()) continue;
    if (line.front() == '"') {
      const std::string title = lower(line);
      table = title.starts_with("\"correlation\"")         ? &tables.correlation
              : title.starts_with("\"count rate\"")        ? &tables.rate
              : title.starts_with("\"standarddeviation\"") ? &tables.deviation
                                                           : nullptr;
      head = false;
    } else if (head) {
      read_line(line, file);
    } else if (table != nullptr) {
      std::vector<double> row = numbers(line);
      if (row.empty()) {
        table = nullptr;  // "Monitor Diode 1.00" ends the last table
        continue;
      }
      if (!table->empty() && row.size() != table->front().size())
        throw format_error(path, "line " + std::to_string(n + 1),
                           std::to_string(row.size()) + " numbers",
                           std::to_string(table->front().size()));
      table->push_back(std::move(row));
    }
  }
  return tables;
}

bool any(const std::vector<std::vector<double>>& table, std::size_t column) {
  for (const auto& row : table)
    if (column < row.size() && row[column] != 0) return true;
  return false;
}

core::CurveSignal signal_of(const Tables& tables, int channel) {
  core::CurveSignal signal;
  signal.label = "channel " + std::to_string(channel);
  signal.mean_rate_hz = std::numeric_limits<double>::quiet_NaN();
  const auto column = static_cast<std::size_t>(channel) + 1;
  double sum = 0;
  for (const auto& row : tables.rate) {
    if (channel < 0 || column >= row.size()) return signal;
    signal.trace.time_s.push_back(row[0]);
    signal.trace.rate_khz.push_back(row[column]);
    sum += row[column];
  }
  if (!tables.rate.empty())
    signal.mean_rate_hz = 1e3 * sum / static_cast<double>(tables.rate.size());
  return signal;
}

}  // namespace

CurveFile read_asc(const std::string& path) {
  CurveFile file;
  file.format = "ALV ASC";
  const Tables tables = read_tables(path, file);
  if (tables.correlation.empty() || tables.correlation.front().size() < 2)
    throw format_error(path, "\"Correlation\"", "missing or empty", "lines of lag (ms) and G",
                       "is this a file of an ALV correlator?");
  std::vector<std::size_t> columns;
  for (std::size_t c = 1; c < tables.correlation.front().size(); ++c)
    if (any(tables.correlation, c)) columns.push_back(c);
  std::vector<Named> named = curves_of(file.facts["Mode"]);
  for (const std::size_t column : columns) {
    core::CorrelationCurve curve;
    const std::size_t k = file.curves.size();
    const int order = static_cast<int>(k);
    const Named who = named.size() == columns.size() ? named[k] : Named{order, order};
    curve.cross = who.first != who.second;
    curve.first = signal_of(tables, who.first);
    if (curve.cross) curve.second = signal_of(tables, who.second);
    for (const auto& row : tables.correlation) {
      curve.lag_s.push_back(row[0] * kSecondsPerMillisecond);
      curve.g.push_back(row[column]);
    }
    if (tables.deviation.size() == tables.correlation.size() && any(tables.deviation, column))
      for (const auto& row : tables.deviation) curve.standard_error.push_back(row[column]);
    if (const auto seconds = file.facts.find("Duration [s]"); seconds != file.facts.end())
      curve.duration_s = number(seconds->second).value_or(0);
    file.curves.push_back(std::move(curve));
  }
  if (file.curves.empty()) throw format_error(path, "\"Correlation\"", "only zeros", "a curve");
  return file;
}

}  // namespace tautline::formats::curves

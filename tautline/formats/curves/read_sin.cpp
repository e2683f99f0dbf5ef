// Correlator.com's .SIN: sections in brackets; curves normalised to decay to 1, in the order of the pairs of inputs in
// "Mode=", or of those that the mode's name stands for; the same lags raw: for each curve its correlation and the two
// bases, then the samples. g2 = correlation x samples / (base A x base B).
#include <initializer_list>
#include <limits>
#include <string>

#include "tautline/formats/curves/curves.h"
#include "tautline/formats/input_file.h"
#include "tautline/formats/text.h"

namespace tautline::formats::curves {

namespace {

struct Table {
  std::vector<std::vector<double>> rows;
  std::size_t first_line = 0;
};

struct Sections {
  std::vector<double> mode;  // two inputs for each curve
  Table curves, raw, intensity;
  bool has_intensity = false;          // its heading, which is behind the curves
  bool ends_in_table = false;          // inside its last line
  bool ends_before_intensity = false;  // with that heading
};

// Modes with names are of two inputs.
constexpr struct {
  std::string_view name;  // without blanks and hyphens
  std::initializer_list<double> inputs;
} kModes[] = {{"singleauto", {0, 0}},
              {"singlecross", {0, 1}},
              {"dualauto", {0, 0, 1, 1}},
              {"dualcross", {0, 1, 1, 0}},
              {"quad", {0, 0, 1, 1, 0, 1, 1, 0}}};

constexpr const char* kCutShort =
    "the file is cut short: copy it again, or save lags and G - 1 of its whole lines as .csv";

// Two inputs for each curve: "2 3 3 2" or "Dual Cross"; empty where it is neither.
std::vector<double> inputs_of(std::string_view mode) {
  std::string name = lower(mode);
  std::erase_if(name, [](char c) { return c == ' ' || c == '-' || c == '_' || c == '\t'; });
  for (const auto& one : kModes)
    if (one.name == name) return one.inputs;
  return numbers(mode);
}

Table* table_of(Sections& sections, const std::string& section) {
  if (section.starts_with("[correlationfunction]")) return &sections.curves;
  if (section.starts_with("[rawcorrelationfunction]")) return &sections.raw;
  if (section.starts_with("[intensityhistory]")) return &sections.intensity;
  return nullptr;
}

Sections read_sections(const std::string& path, CurveFile& file) {
  Sections sections;
  Table* table = nullptr;
  const auto lines = read_lines(path);
  for (std::size_t n = 0; n < lines.size(); ++n) {
    const std::string_view line = trim(lines[n]);
    if (line.empty()) continue;
    if (line.front() == '[') {
      // "[Delay_Correlation_...]" names the columns of the section that it is in.
      const std::string section = lower(line);
      if (!section.starts_with("[delay_")) table = table_of(sections, section);
      sections.has_intensity = sections.has_intensity || table == &sections.intensity;
      continue;
    }
    if (const std::size_t equals = line.find('='); equals != std::string_view::npos) {
      const std::string key = lower(trim(line.substr(0, equals)));
      const std::string_view value = trim(line.substr(equals + 1));
      if (key == "mode") sections.mode = inputs_of(value);
      file.facts.emplace(key, value);
      continue;
    }
    if (table == nullptr) continue;
    std::vector<double> row = numbers(line);
    if (row.empty() || (!table->rows.empty() && row.size() != table->rows.front().size()))
      throw format_error(
          path, "line " + std::to_string(n + 1), std::string(line.substr(0, 60)),
          table->rows.empty() ? "numbers" : std::to_string(table->rows.front().size()) + " numbers",
          n + 1 == lines.size() ? kCutShort : "");
    table->rows.push_back(std::move(row));
    sections.ends_in_table = n + 1 == lines.size();
  }
  sections.ends_before_intensity = table == &sections.intensity && table->rows.empty();
  return sections;
}

// A file that is cut short has whole lines up to the last one, whose last number may have lost digits.
void refuse_cut_short(const std::string& path, const CurveFile& file, const Sections& sections) {
  if (!sections.has_intensity)
    throw format_error(path, "[IntensityHistory]",
                       "missing behind " + std::to_string(sections.curves.rows.size()) + " lags",
                       "the section that follows the curves", kCutShort);
  const auto stated = file.facts.find("tracenumber");
  const double traces = stated == file.facts.end() ? 0 : number(stated->second).value_or(0);
  if (sections.ends_before_intensity)
    throw format_error(path, "[IntensityHistory]", "empty", "lines of time and rates", kCutShort);
  if (static_cast<double>(sections.intensity.rows.size()) < traces)
    throw format_error(path, "[IntensityHistory]",
                       std::to_string(sections.intensity.rows.size()) + " lines",
                       stated->second + ", its TraceNumber", kCutShort);
  if (sections.ends_in_table)
    throw format_error(path, "last line", "without its end", "a whole line", kCutShort);
}

core::CurveSignal signal_of(const Table& intensity, std::size_t input) {
  core::CurveSignal signal;
  signal.label = "input " + std::to_string(input);
  signal.mean_rate_hz = std::numeric_limits<double>::quiet_NaN();
  if (intensity.rows.empty() || input + 1 >= intensity.rows.front().size()) return signal;
  double sum = 0;
  for (const auto& row : intensity.rows) {
    signal.trace.time_s.push_back(row[0]);
    signal.trace.rate_khz.push_back(row[input + 1] / 1e3);
    sum += row[input + 1];
  }
  signal.mean_rate_hz = sum / static_cast<double>(intensity.rows.size());
  return signal;
}

core::CorrelationCurve curve_of(const Sections& sections, std::size_t k, bool raw) {
  core::CorrelationCurve curve;
  const auto a = static_cast<std::size_t>(sections.mode[2 * k]);
  const auto b = static_cast<std::size_t>(sections.mode[2 * k + 1]);
  curve.cross = a != b;
  curve.first = signal_of(sections.intensity, a);
  if (curve.cross) curve.second = signal_of(sections.intensity, b);
  for (const auto& row : sections.curves.rows) {
    curve.lag_s.push_back(row[0]);
    curve.g.push_back(row[k + 1] - 1);
  }
  if (!raw) return curve;
  for (std::size_t l = 0; l < curve.g.size(); ++l) {
    const auto& row = sections.raw.rows[l];
    curve.sums.push_back(row[3 * k + 1]);
    curve.monitor_direct.push_back(row[3 * k + 2]);
    curve.monitor_delayed.push_back(row[3 * k + 3]);
    curve.counts.push_back(row.back());
    // Lags that the run did not reach are printed as zeros.
    if (curve.monitor_direct.back() * curve.monitor_delayed.back() == 0)
      curve.g[l] = std::numeric_limits<double>::quiet_NaN();
  }
  return curve;
}

// The raw lines follow those of the curves lag by lag; some instruments write unset memory behind.
bool has_raw(const Sections& sections, std::size_t curves) {
  const auto& raw = sections.raw.rows;
  if (raw.size() < sections.curves.rows.size() || raw.front().size() < 3 * curves + 2) return false;
  for (std::size_t l = 0; l < sections.curves.rows.size(); ++l)
    if (raw[l].front() != sections.curves.rows[l].front()) return false;
  return true;
}

// Lags that the run did not reach are printed as zeros behind all others, which no correlation of light is.
void forget_unreached(CurveFile& file) {
  const auto zero = [](const core::CorrelationCurve& curve, std::size_t l) {
    return !(curve.g[l] > -1);
  };
  for (std::size_t l = file.curves.front().g.size(); l-- > 0;) {
    for (const core::CorrelationCurve& curve : file.curves)
      if (!zero(curve, l)) return;
    for (core::CorrelationCurve& curve : file.curves)
      curve.g[l] = std::numeric_limits<double>::quiet_NaN();
  }
}

}  // namespace

CurveFile read_sin(const std::string& path) {
  CurveFile file;
  file.format = "Correlator.com SIN";
  const Sections sections = read_sections(path, file);
  if (sections.curves.rows.empty())
    throw format_error(path, "[CorrelationFunction]", "missing or empty",
                       "lines of lags and curves");
  refuse_cut_short(path, file, sections);
  const std::size_t held = sections.curves.rows.front().size() - 1;
  const std::size_t curves = sections.mode.size() / 2;
  if (sections.mode.size() % 2 != 0 || curves == 0 || curves > held)
    throw format_error(path, "Mode=", file.facts.count("mode") ? file.facts["mode"] : "missing",
                       "pairs of inputs, one for each of the " + std::to_string(held) + " curves",
                       "or Single Auto, Single Cross, Dual Auto, Dual Cross, Quad");
  for (const double input : sections.mode)
    if (!(input >= 0 && input < 64))
      throw format_error(path, "Mode=", file.facts["mode"], "inputs from 0 to 63");
  const bool raw = has_raw(sections, curves);
  for (std::size_t k = 0; k < curves; ++k) file.curves.push_back(curve_of(sections, k, raw));
  forget_unreached(file);
  for (core::CorrelationCurve& curve : file.curves)
    if (const auto seconds = file.facts.find("duration"); seconds != file.facts.end())
      curve.duration_s = number(seconds->second).value_or(0);
  return file;
}

}  // namespace tautline::formats::curves

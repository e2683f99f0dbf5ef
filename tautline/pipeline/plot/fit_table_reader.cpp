#include "tautline/pipeline/plot/fit_table_reader.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "tautline/core/error.h"
#include "tautline/formats/input_file.h"
#include "tautline/formats/text.h"

namespace tautline::pipeline::plot {

namespace {

constexpr std::string_view kHeader = "sensor,label,row,column,status,", kModel = "# model ",
                           kLags = "# lags ", kHistory = "# tautline ";
constexpr std::size_t kHeadBytes = 16384;

[[noreturn]] void refuse_table(const std::string& path, std::size_t line, const std::string& found,
                               const std::string& expected) {
  throw core::Error(core::ErrorKind::format, path + ": line " + std::to_string(line), found,
                    expected, "`fit -o` writes such tables");
}

// Fields of a line of CSV; a quoted one may hold commas, and "" for a quote.
std::vector<std::string> csv_fields(std::string_view line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (std::size_t k = 0; k < line.size(); ++k) {
    const char c = line[k];
    if (quoted && c == '"' && k + 1 < line.size() && line[k + 1] == '"')
      fields.back() += line[++k];
    else if (c == '"')
      quoted = !quoted;
    else if (c == ',' && !quoted)
      fields.emplace_back();
    else
      fields.back() += c;
  }
  return fields;
}

// Columns of what is read, by the names in the header.
struct FitColumns {
  std::vector<std::string> names;

  std::optional<std::size_t> find(const std::string& name) const {
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end()) return std::nullopt;
    return static_cast<std::size_t>(found - names.begin());
  }
};

double number_of(const std::string& path, std::size_t line, const FitColumns& columns,
                 const std::vector<std::string>& fields, const std::string& name) {
  const auto column = columns.find(name);
  if (!column) refuse_table(path, line, "no column " + name, "the model's parameters");
  const auto value = formats::number(fields[*column]);
  if (!value) refuse_table(path, line, name + " '" + fields[*column] + "'", "a number");
  return *value;
}

FittedCurve fitted_curve(const std::string& path, std::size_t line, const FitColumns& columns,
                         const std::vector<std::string>& fields, const FitTable& table) {
  if (fields.size() != columns.names.size())
    refuse_table(path, line, std::to_string(fields.size()) + " fields",
                 std::to_string(columns.names.size()));
  const auto of = [&](const std::string& name) {
    return number_of(path, line, columns, fields, name);
  };
  FittedCurve one;
  const double sensor = of("sensor");
  if (!(sensor >= 0) || sensor > 1e9) refuse_table(path, line, fields[0], "a sensor's number");
  one.sensor = static_cast<std::size_t>(sensor);
  one.label = fields[1];
  one.status = fields[4];
  for (const fit::Parameter& parameter : table.parameters) {
    one.values.push_back(of(parameter.name));
    one.errors.push_back(of(parameter.name + "_error"));
  }
  one.chi_squared = of("chi2");
  const double freedom = of("degrees_of_freedom");
  one.degrees_of_freedom = freedom > 0 && freedom < 1e9 ? static_cast<int>(freedom) : 0;
  return one;
}

}  // namespace

bool holds_fits(const std::string& path) {
  if (!path.ends_with(".csv") && !path.ends_with(".txt")) return false;
  const std::vector<std::byte> head = formats::InputFile(path).head(kHeadBytes);
  const std::string_view text(reinterpret_cast<const char*>(head.data()), head.size());
  return text.find("\n" + std::string(kModel)) != std::string_view::npos &&
         text.find("\n" + std::string(kHeader)) != std::string_view::npos;
}

FitTable read_fit_table(const std::string& path) {
  if (!holds_fits(path))
    throw core::Error(core::ErrorKind::format, path, "no table of fits",
                      "the table that tautline fit writes",
                      "the curves are given first, then their fits");
  FitTable table;
  FitColumns columns;
  bool has_model = false;
  const std::vector<std::string> lines = formats::read_lines(path);
  for (std::size_t k = 0; k < lines.size(); ++k) {
    const std::string& line = lines[k];
    if (line.starts_with(kModel)) {
      table.model = fit::parse_model(formats::trim(std::string_view(line).substr(kModel.size())));
      table.parameters = fit::parameters_of(table.model);
      has_model = true;
    } else if (line.starts_with(kLags)) {
      const std::vector<double> range =
          formats::numbers(std::string_view(line).substr(kLags.size()), " ");
      if (range.size() != 2) refuse_table(path, k + 1, line, "the lags that were fitted, in s");
      table.lowest_lag_s = range[0];
      table.highest_lag_s = range[1];
    } else if (k == 0 && line.starts_with(kHistory)) {
      table.command = line.substr(std::min(line.size(), line.find(": ") + 2));
    } else if (columns.names.empty() && line.starts_with(kHeader)) {
      columns.names = csv_fields(line);
    } else if (!line.empty() && !line.starts_with('#')) {
      if (columns.names.empty() || !has_model)
        refuse_table(path, k + 1, "no table of a fit", "its model and the names of its columns");
      table.curves.push_back(fitted_curve(path, k + 1, columns, csv_fields(line), table));
    }
  }
  if (table.curves.empty())
    refuse_table(path, lines.size(), "no curves", "a line for each fitted curve");
  return table;
}

}  // namespace tautline::pipeline::plot

#include "tautline/pipeline/photons/fit_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "tautline/core/counted.h"
#include "tautline/core/curve_label.h"
#include "tautline/formats/figure/figure.h"
#include "tautline/pipeline/report/base64.h"
#include "tautline/pipeline/report/html_page.h"

namespace tautline::pipeline::report {

namespace {

using Json = nlohmann::ordered_json;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Without the folder, which of an input by a pipe is a temporary one.
std::string title_of(const FitConfig& config) {
  const std::string first = "Fit of " + std::filesystem::path(config.input).filename().string();
  return config.more_inputs.empty()
             ? first
             : first + " and " + core::counted(config.more_inputs.size(), "more file");
}

struct Words {
  std::string_view name, label, unit;
};
constexpr Words kWords[] = {{"n", "N", ""},
                            {"tau_d_s", "Diffusion time", "s"},
                            {"tau_d2_s", "Second diffusion time", "s"},
                            {"fraction", "Share of the first", ""},
                            {"triplet", "Dark fraction", ""},
                            {"tau_t_s", "Dark state's lifetime", "s"},
                            {"tau_v_s", "Flow time", "s"},
                            {"alpha", "Anomaly", ""},
                            {"beta", "Coherence", ""},
                            {"gamma_hz", "Decay rate", "1/s"},
                            {"pdi", "Polydispersity", ""},
                            {"skewness", "Skewness", ""},
                            {"afterpulse", "Afterpulsing", ""},
                            {"tau_a_s", "Afterpulses' delay", "s"},
                            {"kappa", "Axis ratio", ""},
                            {"blur", "Blur over pixel", ""},
                            {"offset", "Offset", ""}};

std::string formula_of(const fit::Model& model) {
  const std::string dark = model.triplet ? " [1 + T/(1−T) exp(−τ/τT)]" : "";
  const std::string after = model.afterpulsing ? " + a exp(−τ/τa)" : "";
  const std::string focus = " / [(1 + τ/τD) √(1 + τ/(κ² τD))]", n = "G = (1/N)" + dark;
  switch (model.shape) {
    case fit::Shape::diffusion_3d:
      return n + focus + after;
    case fit::Shape::flow_3d:
      return n + " exp[−(τ/τv)² / (1 + τ/τD)]" + focus + after;
    case fit::Shape::anomalous_3d:
      return n + " / [(1 + x) √(1 + x/κ²)]" + after + ", x = (τ/τD)^α";
    case fit::Shape::two_species_3d:
      return n + " [f g(τ; τD1) + (1−f) g(τ; τD2)]" + after + ", g = 1" + focus;
    case fit::Shape::pixel_2d:
      return n + " [erf p + (exp(−p²) − 1)/(√π p)]² over its value at 0" + after +
             ", p = 1/√(τ/τD + blur²)";
    case fit::Shape::cumulants_1:
      return "G = β" + dark + " exp(−2x)" + after + ", x = Γτ";
    case fit::Shape::cumulants_2:
      return "G = β" + dark + " exp(−2x) (1 + PDI x²/2)²" + after + ", x = Γτ";
    case fit::Shape::cumulants_3:
      break;
  }
  return "G = β" + dark + " exp(−2x) (1 + PDI x²/2 − s x³/6)²" + after + ", x = Γτ";
}

std::string lag_text(double seconds) {
  const auto [unit, scale] = formats::figure::time_unit(seconds);
  return fmt::format("{:.4g} {}", seconds / scale, unit);
}

// One quantity of all sensors, with its errors.
Json column(const std::string& name, const std::string& label, const std::string& unit,
            const std::vector<float>& values, const std::vector<float>& errors,
            bool fixed = false) {
  Json one{{"name", name},
           {"label", label},
           {"unit", unit},
           {"fixed", fixed},
           {"values", base64(values)}};
  if (!errors.empty()) one["errors"] = base64(errors);
  return one;
}

template <class Value>
std::vector<float> of_all(const FitResult& result, Value value) {
  std::vector<float> all;
  for (const CurveFit& one : result.fits) all.push_back(static_cast<float>(value(one)));
  return all;
}

Json columns(const FitResult& result) {
  Json all = Json::array();
  for (std::size_t k = 0; k < result.parameters.size(); ++k) {
    const fit::Parameter& p = result.parameters[k];
    if (p.fixed && p.value == 0) continue;
    const auto words = std::find_if(std::begin(kWords), std::end(kWords),
                                    [&](const Words& w) { return w.name == p.name; });
    all.push_back(column(
        p.name, std::string(words == std::end(kWords) ? p.name : words->label),
        std::string(words == std::end(kWords) ? "" : words->unit),
        of_all(result, [k](const CurveFit& one) { return one.solution.values[k]; }),
        p.fixed
            ? std::vector<float>{}
            : of_all(result, [k](const CurveFit& one) { return one.solution.standard_errors[k]; }),
        p.fixed));
  }
  const auto d = of_all(result, [](const CurveFit& one) { return one.d_um2_per_s; });
  if (std::any_of(d.begin(), d.end(), [](float v) { return std::isfinite(v); }))
    all.push_back(column("d_um2_per_s", "D", "µm²/s", d,
                         of_all(result, [](const CurveFit& one) { return one.d_error; })));
  all.push_back(column("g0", "G(0)", "", of_all(result, [](const CurveFit& one) { return one.g0; }),
                       of_all(result, [](const CurveFit& one) { return one.g0_error; })));
  // Without weights it is a sum of squares without a scale.
  const auto spread = [](const CurveFit& one) { return one.reduced_chi_squared(); };
  if (result.weighted)
    all.push_back(column("reduced_chi2", "Reduced χ²", "", of_all(result, spread), {}));
  all.push_back(column("rate_hz", "Rate", "Hz",
                       of_all(result, [](const CurveFit& one) { return one.rate_hz; }), {}));
  return all;
}

// Sensors whose curves are on the page: all, or evenly chosen.
std::vector<std::int32_t> chosen(std::size_t sensors) {
  std::vector<std::int32_t> index;
  const std::size_t count = std::min(sensors, kMostCurves);
  for (std::size_t k = 0; k < count; ++k)
    index.push_back(static_cast<std::int32_t>(count == 1 ? 0 : k * (sensors - 1) / (count - 1)));
  return index;
}

Json curves_json(const FitResult& result, const core::CorrelationCurves& c,
                 const std::vector<std::int32_t>& index) {
  std::vector<float> g, fitted, errors;
  for (const std::int32_t sensor : index) {
    const auto s = static_cast<std::size_t>(sensor);
    const fit::Solution& solution = result.fits[s].solution;
    std::size_t next = 0;
    for (std::size_t l = 0; l < c.lags && next < result.lag_s.size(); ++l) {
      if (c.lag_s[l] != result.lag_s[next]) continue;
      ++next;
      g.push_back(static_cast<float>(c.g[s * c.lags + l]));
      errors.push_back(
          c.standard_error.empty() ? kNan : static_cast<float>(c.standard_error[s * c.lags + l]));
      fitted.push_back(
          static_cast<float>(fit::evaluate(result.model, solution.values, c.lag_s[l], {})));
    }
  }
  return {{"index", base64(index)},
          {"g", base64(g)},
          {"fit", base64(fitted)},
          {"error", base64(errors)}};
}

// The array's extent if every sensor has a position of its own: arrays of several files, and pairs, have no map.
Json shape_json(const core::CorrelationCurves& c) {
  std::vector<std::int32_t> row, column;
  std::set<std::pair<std::int64_t, std::int64_t>> places;
  std::int64_t rows = 0, columns = 0;
  for (const core::CurveSignal& signal : c.first) {
    if (signal.row < 0 || signal.column < 0 || signal.row > 100'000 || signal.column > 100'000 ||
        !places.emplace(signal.row, signal.column).second)
      return nullptr;
    row.push_back(static_cast<std::int32_t>(signal.row));
    column.push_back(static_cast<std::int32_t>(signal.column));
    rows = std::max(rows, signal.row + 1);
    columns = std::max(columns, signal.column + 1);
  }
  // No map where most positions would be empty.
  if (c.first.size() < 2 || rows * columns > 100 * static_cast<std::int64_t>(c.first.size()))
    return nullptr;
  return {{"rows", rows}, {"columns", columns}, {"row", base64(row)}, {"column", base64(column)}};
}

// The codes of fit.js: masked, hot, good or not judged, doubtful.
std::uint8_t code_of(const CurveFit& one) {
  if (one.masked) return 1;
  if (one.hot) return 2;
  return one.good() || one.unjudged ? 0 : 3;
}

}  // namespace

std::string fit_message(const FitResult& result, const core::CorrelationCurves& curves,
                        const FitConfig& config) {
  const std::vector<std::int32_t> index = chosen(curves.curves);
  std::vector<std::uint8_t> status;
  Json statuses = Json::array(), labels = Json::array(), medians = Json::object(),
       warnings = Json::array();
  for (const std::string& warning : result.warnings)
    warnings.push_back(core::said_in(config.words, warning));
  for (const CurveFit& one : result.fits) {
    status.push_back(code_of(one));
    statuses.push_back(core::said_in(config.words, one.status));
  }
  for (const std::int32_t sensor : index) {
    const auto s = static_cast<std::size_t>(sensor);
    labels.push_back(core::label_of(curves, s));
  }
  for (const auto& [name, value] : result.medians)
    medians[name] = std::isfinite(value) ? Json(value) : Json(nullptr);
  const std::string range =
      result.lag_s.empty()
          ? "none"
          : fmt::format("{} to {}, {}", lag_text(result.lag_s.front()),
                        lag_text(result.lag_s.back()), core::counted(result.lag_s.size(), "lag"));
  Json message{{"type", "fit"},
               {"schema", "tautline.fit.page"},
               {"version", 1},
               {"title", title_of(config)},
               {"model", fit::name_of(result.model)},
               {"formula", formula_of(result.model)},
               {"sensors", result.fits.size()},
               {"good", result.good},
               {"unjudged", result.unjudged},
               {"hot", result.hot},
               {"masked", result.masked},
               {"failed", result.failed},
               {"weighted", result.weighted},
               {"lag_s", base64(result.lag_s)},
               {"status", base64(status)},
               {"statuses", statuses},
               {"labels", labels},
               {"medians", medians},
               {"columns", columns(result)},
               {"curves", curves_json(result, curves, index)},
               {"shape", shape_json(curves)},
               {"warnings", warnings},
               {"facts",
                {{"Model", std::string(fit::name_of(result.model))},
                 {"Lags fitted", range},
                 {"Errors", result.from_segments ? "from the run's segments"
                                                 : "of independent lags: too small"},
                 {"Weights", result.weighted ? "standard errors" : "none"},
                 {"Command", config.history}}}};
  // Labels and paths may contain bytes that are not UTF-8.
  return message.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string fit_page(const FitResult& result, const core::CorrelationCurves& curves,
                     const FitConfig& config) {
  return compose_page(title_of(config), {fit_message(result, curves, config)}, PageKind::fit);
}

void write_fit_page(const std::string& path, const FitResult& result,
                    const core::CorrelationCurves& curves, const FitConfig& config,
                    bool overwrite) {
  write_page(path, fit_page(result, curves, config), overwrite);
}

}  // namespace tautline::pipeline::report

// Curves with the models that `fit` found.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tautline/core/counted.h"
#include "tautline/core/curve_label.h"
#include "tautline/core/error.h"
#include "tautline/formats/curves/curves.h"
#include "tautline/pipeline/photons/fit/curve_points.h"
#include "tautline/pipeline/plot/figures.h"
#include "tautline/pipeline/plot/fit_table_reader.h"
#include "tautline/pipeline/plot/kinds.h"
#include "tautline/pipeline/plot/texts.h"

namespace tautline::pipeline::plot {

namespace {

namespace figure = formats::figure;

constexpr std::size_t kMostFits = 4;
// Numbers of the table have nine digits.
constexpr double kSameChiSquared = 1e-3, kSameLag = 1e-6;

struct DrawnFit {
  const FittedCurve* fitted = nullptr;
  std::string name;
  fit::Points all, used;  // with a lag above 0, and those that were fitted
  double chi_squared = 0;
};

// Whether a command names this file: its last part, as the folder may be another one.
bool names_file(const std::string& command, const std::string& path) {
  const std::string name = std::filesystem::path(path).filename().string();
  constexpr std::string_view kBefore = " /\\'\"", kAfter = " '\"";
  for (std::size_t at = command.find(name); at != std::string::npos;
       at = command.find(name, at + 1)) {
    const std::size_t end = at + name.size();
    if (at > 0 && kBefore.find(command[at - 1]) != std::string_view::npos &&
        (end == command.size() || kAfter.find(command[end]) != std::string_view::npos))
      return true;
  }
  return false;
}

// Fits of another file look like bad ones of these curves. Where a pipeline or a program made the fit, its command does
// not name the curves.
void require_fit_of(const core::CorrelationCurves& curves, const FitTable& table,
                    const PlotConfig& config) {
  const auto refuse = [&](const std::string& found) {
    throw core::Error(core::ErrorKind::config, "fit", config.fit + ": " + found,
                      "a fit of the curves in " + config.input,
                      "give the file that `fit` read, by the same name");
  };
  if (table.command.find(" fit ") != std::string::npos && !names_file(table.command, config.input))
    refuse("made by `" + table.command + "`");
  if (table.curves.size() != curves.curves)
    refuse(core::counted(table.curves.size(), "fit") + " of " +
           core::counted(curves.curves, "curve"));
  const auto has_lag = [&](double lag_s) {
    return lag_s == 0 || !std::isfinite(lag_s) ||
           std::any_of(curves.lag_s.begin(), curves.lag_s.end(),
                       [&](double own_s) { return std::fabs(own_s - lag_s) <= kSameLag * lag_s; });
  };
  if (!has_lag(table.lowest_lag_s) || !has_lag(table.highest_lag_s))
    refuse(fmt::format("lags from {:.6g} to {:.6g} s, which the curves do not have",
                       table.lowest_lag_s, table.highest_lag_s));
}

DrawnFit drawn_fit(const core::CorrelationCurves& curves, const FitTable& table,
                   const FittedCurve& one, const std::string& path) {
  if (one.sensor >= curves.curves || core::label_of(curves, one.sensor) != one.label)
    throw core::Error(core::ErrorKind::config, "fit",
                      fmt::format("{}: curve {} \"{}\"", path, one.sensor, one.label),
                      "a fit of the curves in this file",
                      "give the file that `fit` read, by the same name");
  const bool weighted = !curves.standard_error.empty();
  DrawnFit drawn{
      &one, one.label.empty() ? fmt::format("curve {}", one.sensor) : one.label,
      fit::points_of(curves, one.sensor, {0, std::numeric_limits<double>::infinity(), weighted}),
      fit::points_of(
          curves, one.sensor,
          {table.lowest_lag_s * (1 - kSameLag), table.highest_lag_s * (1 + kSameLag), weighted})};
  for (std::size_t k = 0; k < drawn.used.g.size(); ++k) {
    const double residual =
        drawn.used.g[k] - fit::evaluate(table.model, one.values, drawn.used.lag_s[k], {});
    drawn.chi_squared += std::pow(weighted ? residual / drawn.used.standard_error[k] : residual, 2);
  }
  return drawn;
}

// At the lags of the points, which lie close enough on their axis, so that pages read both off at one place.
figure::Line model_line(const FitTable& table, const DrawnFit& drawn) {
  figure::Line line;
  line.name = drawn.name + ", model";
  line.x = drawn.all.lag_s;
  for (const double lag_s : line.x)
    line.y.push_back(drawn.used.lag_s.empty() || lag_s < drawn.used.lag_s.front() ||
                             lag_s > drawn.used.lag_s.back()
                         ? std::numeric_limits<double>::quiet_NaN()
                         : fit::evaluate(table.model, drawn.fitted->values, lag_s, {}));
  return line;
}

figure::Line residual_line(const FitTable& table, const DrawnFit& drawn, bool weighted) {
  figure::Line line;
  line.name = drawn.name;
  line.style = figure::Style::points;
  for (std::size_t k = 0; k < drawn.used.g.size(); ++k) {
    const double residual =
        drawn.used.g[k] - fit::evaluate(table.model, drawn.fitted->values, drawn.used.lag_s[k], {});
    line.x.push_back(drawn.used.lag_s[k]);
    line.y.push_back(weighted ? residual / drawn.used.standard_error[k] : residual);
  }
  return line;
}

figure::Axis lag_axis(const std::vector<double>& lags) {
  figure::Axis made = axis("lag", "s");
  made.scale = figure::Scale::logarithmic;
  figure::fit_axis(made, lags);
  return made;
}

void add_panels(Figure& made, const FitTable& table, const std::vector<DrawnFit>& fits,
                bool weighted) {
  std::vector<double> lags, heights, residuals;
  std::vector<figure::Line> measured, models, below;
  for (const DrawnFit& one : fits) {
    lags.insert(lags.end(), one.all.lag_s.begin(), one.all.lag_s.end());
    // What was left out, as afterpulses of the shortest lags, need not be in the picture.
    for (std::size_t k = 0; k < one.used.g.size(); ++k) {
      const double error = weighted ? one.used.standard_error[k] : 0;
      heights.insert(heights.end(), {one.used.g[k] - error, one.used.g[k] + error});
    }
    measured.push_back({one.name, figure::Style::points, one.all.lag_s, one.all.g,
                        weighted ? one.all.standard_error : std::vector<double>{}});
    models.push_back(model_line(table, one));
    heights.insert(heights.end(), models.back().y.begin(), models.back().y.end());
    below.push_back(residual_line(table, one, weighted));
    residuals.insert(residuals.end(), below.back().y.begin(), below.back().y.end());
  }
  figure::Panel curves{"Correlation and model", lag_axis(lags), axis("G", "")};
  curves.tall = true;
  figure::fit_axis(curves.y, heights);
  curves.lines = std::move(measured);
  std::move(models.begin(), models.end(), std::back_inserter(curves.lines));
  figure::Panel rest{"Residuals: measured less model", lag_axis(lags),
                     axis(weighted ? "residual over standard error" : "residual of G", "")};
  figure::fit_axis(rest.y, residuals);
  rest.lines = std::move(below);
  const std::vector<double>& at = rest.lines.front().x;
  rest.lines.push_back({"model", figure::Style::dashes, at, std::vector<double>(at.size(), 0)});
  made.panels = {std::move(curves), std::move(rest)};
}

std::string with_error(const std::string& name, const FittedCurve& fitted, std::size_t k) {
  const double value = fitted.values[k], error = fitted.errors[k];
  return error > 0
             ? fmt::format("{:.4g} \u00b1 {:.2g}", value, error)
             : fmt::format("{:.4g}, {}", value, fit::without_error(name, error, fitted.status));
}

}  // namespace

Figure plot_fits(const PlotConfig& config) {
  const FitTable table = read_fit_table(config.fit);
  formats::curves::CurvesFacts facts;
  const core::CorrelationCurves curves = formats::curves::read_set(config.input, &facts);
  require_fit_of(curves, table, config);
  const bool weighted = !curves.standard_error.empty();
  std::vector<DrawnFit> fits;
  std::size_t fitted = 0;
  for (const FittedCurve& one : table.curves) {
    if (!std::all_of(one.values.begin(), one.values.end(),
                     [](double value) { return std::isfinite(value); }))
      continue;
    if (++fitted <= kMostFits) fits.push_back(drawn_fit(curves, table, one, config.fit));
  }
  if (fits.empty())
    throw core::Error(core::ErrorKind::format, config.fit, "no curve that was fitted",
                      "at least one", "its column status says why");
  Figure made{name_of(config.input)};
  made.facts = {{"model", fit::name_of(table.model)}, {"fits", grouped(fitted)}};
  const FittedCurve& first = *fits.front().fitted;
  if (fits.size() == 1) {
    for (std::size_t k = 0; k < table.parameters.size(); ++k)
      made.facts.push_back(
          {table.parameters[k].name, with_error(table.parameters[k].name, first, k)});
    made.facts.push_back({"status", first.status});
  } else {
    for (const DrawnFit& one : fits)
      made.facts.push_back({"status of " + one.name, one.fitted->status});
  }
  if (weighted && first.degrees_of_freedom > 0)
    made.facts.push_back(
        {fits.size() == 1 ? "reduced chi2" : "reduced chi2 of the first",
         fmt::format("{:.3g}", fits.front().chi_squared / first.degrees_of_freedom)});
  add_panels(made, table, fits, weighted);
  std::vector<core::CorrelationCurve> drawn;
  for (const DrawnFit& one : fits) drawn.push_back(curves.curve(one.fitted->sensor));
  if (figure::Panel rates = rate_panel(drawn, facts.extra, made.notes); !rates.lines.empty())
    made.panels.push_back(std::move(rates));
  if (weighted) made.notes.push_back("Bars are standard errors.");
  if (fitted > fits.size())
    made.notes.push_back(fmt::format("The first {} of {} fits.", fits.size(), grouped(fitted)));
  for (const DrawnFit& one : fits)
    if (!(std::fabs(one.chi_squared - one.fitted->chi_squared) <=
          kSameChiSquared * one.fitted->chi_squared))
      made.notes.push_back(
          fmt::format("{}: chi2 of these points is {:.6g}, of the fit's {:.6g}: the fit corrected "
                      "the curve for its detector, or weighed its points otherwise.",
                      one.name, one.chi_squared, one.fitted->chi_squared));
  return made;
}

}  // namespace tautline::pipeline::plot

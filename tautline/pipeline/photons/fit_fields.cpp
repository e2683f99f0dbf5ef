// The fields of fits of correlation curves.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "tautline/core/nearest_name.h"
#include "tautline/pipeline/photons/fit_config.h"
#include "tautline/pipeline/photons/fit_parameters.h"

namespace tautline::pipeline {

namespace {

using core::text::write_number;
using Numbers = std::map<std::string, double>;
using Bounds = std::map<std::string, std::pair<double, double>>;

// Zero, or a length of microscopes' foci and pixels: not nanometres or metres by mistake.
core::Limit micrometres() {
  constexpr double kLeast = 0.01, kMost = 100;
  return {fmt::format("0, or {} to {} micrometres", kLeast, kMost),
          [](double value) { return value == 0 || (value >= kLeast && value <= kMost); }};
}

// "LO:HI"; either may be omitted.
std::pair<double, double> read_range(const std::string& text, double lowest, double highest) {
  const auto ends = core::text::split(text, ':');
  if (ends.size() != 2) core::text::refuse(text, "LO:HI");
  return {ends[0].empty() ? lowest : core::text::read_number(ends[0]),
          ends[1].empty() ? highest : core::text::read_number(ends[1])};
}

// Times may have a unit.
std::string in_unit(const std::string& name, const std::string& value) {
  const std::string seconds = core::text::in_seconds(value);
  if (seconds != value && !name.ends_with("_s"))
    core::text::refuse(name + "=" + value,
                       "a number without a unit: times have names that end in _s, as tau_d_s");
  return seconds;
}

// "NAME=VALUE,NAME=VALUE"
Numbers read_numbers(const std::string& text) {
  Numbers numbers;
  if (text.empty()) return numbers;
  for (const std::string& one : core::text::split(text, ',')) {
    const auto [name, value] = core::text::split_pair(one);
    numbers[name] = core::text::read_number(in_unit(name, value));
  }
  return numbers;
}

std::string numbers_text(const Numbers& numbers) {
  std::string text;
  for (const auto& [name, value] : numbers)
    text += (text.empty() ? "" : ",") + name + "=" + write_number(value);
  return text;
}

Bounds read_bounds(const std::string& text) {
  Bounds bounds;
  if (text.empty()) return bounds;
  for (const std::string& one : core::text::split(text, ',')) {
    if (one.find('=') == std::string::npos) core::text::refuse(one, "NAME=LO:HI");
    const auto [name, value] = core::text::split_pair(one);
    bounds[name] = read_range(in_unit(name, value), 0, std::numeric_limits<double>::max());
  }
  return bounds;
}

std::string bounds_text(const Bounds& bounds) {
  std::string text;
  for (const auto& [name, range] : bounds)
    text += (text.empty() ? "" : ",") + name + "=" + write_number(range.first) + ":" +
            write_number(range.second);
  return text;
}

core::FieldText<fit::Model> model_text() {
  return {core::FieldKind::text,
          fit::model_names(),
          {},
          [](const std::string& name) { return fit::parse_model(name); },
          [](const fit::Model& model) { return fit::name_of(model); }};
}

// "P:SECONDS"
void set_afterpulsing(FitConfig& config, const std::string& text) {
  constexpr const char* kForm = "P:SECONDS, a probability from 0 to 0.5 and a delay above 0";
  const auto parts = core::text::split(core::text::in_seconds(text), ':');
  if (parts.size() != 2) core::text::refuse(text, kForm);
  const double p = core::text::read_number(parts[0]), tau_s = core::text::read_number(parts[1]);
  if (!(p >= 0) || p > 0.5 || !(tau_s > 0) || !std::isfinite(tau_s))
    core::text::refuse(text, kForm);
  config.detector.afterpulsing = p;
  config.detector.afterpulse_tau_s = tau_s;
}

// `name`: the parameter's name with the value that it cannot have.
[[noreturn]] void refuse_value(const std::string& field, const std::string& name, double value,
                               const std::string& limit) {
  throw core::Error(core::ErrorKind::config, field, fmt::format("{}={:g}", name, value), limit);
}

}  // namespace

fit::Parameter& find_parameter(std::vector<fit::Parameter>& parameters, const std::string& name,
                               const std::string& field) {
  std::string names;
  std::vector<std::string> known;
  for (fit::Parameter& p : parameters) {
    if (p.name == name) return p;
    names += (names.empty() ? "" : ", ") + p.name;
    known.push_back(p.name);
  }
  throw core::Error(core::ErrorKind::config, field, name, "one of the model's parameters, " + names,
                    core::did_you_mean(name, known));
}

std::vector<fit::Parameter> configured_parameters(const FitConfig& config) {
  std::vector<fit::Parameter> parameters = fit::parameters_of(config.model);
  if (config.model.shape == fit::Shape::pixel_2d && config.waist_um > 0 && config.pixel_um > 0)
    find_parameter(parameters, "blur", "model").value = config.waist_um / config.pixel_um;
  for (const std::string& name : config.freed) {
    find_parameter(parameters, name, "freed").fixed = false;
    if (config.fixed.contains(name))
      throw core::Error(core::ErrorKind::config, "freed", name, "a parameter that `fixed` leaves",
                        "leave one of them out");
  }
  for (const auto& [name, limits] : config.bounds) {
    fit::Parameter& p = find_parameter(parameters, name, "bounds");
    if (!(limits.first < limits.second))
      refuse_value("bounds", name, limits.first,
                   fmt::format("a lower bound below the upper one, {:g}", limits.second));
    if (p.logarithmic && !(limits.first > 0))
      refuse_value("bounds", name, limits.first,
                   "a lower bound above 0, since its logarithm is searched");
    std::tie(p.lower, p.upper) = limits;
    p.value = std::clamp(p.value, p.lower, p.upper);
  }
  for (const auto& [name, value] : config.starts) {
    fit::Parameter& p = find_parameter(parameters, name, "starts");
    if (!(value >= p.lower && value <= p.upper))
      refuse_value("starts", name, value,
                   fmt::format("a start from {:g} to {:g}", p.lower, p.upper));
    p.value = value;
  }
  for (const auto& [name, value] : config.fixed) {
    fit::Parameter& p = find_parameter(parameters, name, "fixed");
    if (!std::isfinite(value) || (p.logarithmic && !(value > 0)))
      refuse_value("fixed", name, value, p.logarithmic ? "a value above 0" : "a finite value");
    p.value = value;
    p.fixed = true;
  }
  return parameters;
}

const core::Fields<FitConfig>& fields(const FitConfig&) {
  using C = FitConfig;
  static const auto all =
      core::Fields<C>()
          .add({.name = "model", .help = "of the curve", .form = "MODEL"}, &C::model, model_text())
          .add({.name = "waist_um",
                .unit = "um",
                .help = "waist of the focus, for D; 2d-pixel: of the point spread function"},
               &C::waist_um, micrometres())
          .add({.name = "pixel_um", .unit = "um", .help = "side of a pixel, for D of 2d-pixel"},
               &C::pixel_um, micrometres())
          .add({.name = "q_per_um",
                .unit = "1/um",
                .help = "length of the scattering vector, for D of cumulants",
                .option = "q"},
               &C::q_per_um, core::at_least(0))
          .add({.name = "shared",
                .help = "parameters with one value for all curves, which are then fitted together",
                .option = "share"},
               &C::shared)
          .add(
              {.name = "dead_time_s",
               .unit = "s",
               .help = "of the detectors, taken out before the fit"},
              [](auto& c) -> auto& { return c.detector.dead_time_s; },
              core::plain_text<double>(core::at_least(0)))
          .add_text(
              {.name = "afterpulsing",
               .help = "probability and mean delay of a false pulse after each, taken out "
                       "before the fit",
               .form = "P:SECONDS"},
              [](const C& c) {
                const auto& d = c.detector;
                return d.afterpulsing == 0
                           ? ""
                           : write_number(d.afterpulsing) + ":" + write_number(d.afterpulse_tau_s);
              },
              set_afterpulsing)
          .add({.name = "highest_reduced_chi2",
                .help = "above which no fit is ok; 0: what noise explains",
                .option = "max-chi2"},
               &C::highest_reduced_chi2, core::at_least(0))
          .add_text(
              {.name = "range_s",
               .unit = "s",
               .help = "lags to fit; default: all but 0",
               .form = "LO:HI"},
              [](const C& c) {
                const bool all_lags = c.lowest_lag_s == 0 && c.highest_lag_s > 1e300;
                return all_lags
                           ? ""
                           : write_number(c.lowest_lag_s) + ":" + write_number(c.highest_lag_s);
              },
              [](C& c, const std::string& text) {
                std::tie(c.lowest_lag_s, c.highest_lag_s) =
                    read_range(text, 0, std::numeric_limits<double>::infinity());
              })
          .add({.name = "fixed",
                .help = "holds a parameter; more than once for more",
                .option = "fix",
                .form = "NAME=VALUE"},
               &C::fixed,
               core::FieldText<Numbers>{core::FieldKind::list, "", {}, read_numbers, numbers_text})
          .add({.name = "freed",
                .help = "kappa, offset or blur, which are held by default",
                .option = "free"},
               &C::freed)
          .add({.name = "starts",
                .help = "where the search starts, else read off the curve",
                .option = "start-at",
                .form = "NAME=VALUE"},
               &C::starts,
               core::FieldText<Numbers>{core::FieldKind::list, "", {}, read_numbers, numbers_text})
          .add({.name = "bounds", .help = "of a parameter", .form = "NAME=LO:HI"}, &C::bounds,
               core::FieldText<Bounds>{core::FieldKind::list, "", {}, read_bounds, bounds_text})
          .add({.name = "weighted",
                .help = "weigh lags by their standard errors, where the file has them",
                .option = "unweighted",
                .in_option = {.help = "all lags weigh the same, whatever their standard errors"}},
               &C::weighted);
  return all;
}

void assume_kappa(FitConfig& config, double kappa) {
  if (fit::has_kappa(config.model)) config.starts.emplace("kappa", kappa);
}

}  // namespace tautline::pipeline

// Fits of correlation curves.
#include <nanobind/stl/map.h>

#include <limits>

#include "bindings.h"
#include "tautline/core/correlation_curve.h"
#include "tautline/formats/curves/curves.h"
#include "tautline/pipeline/photons/empty_counts.h"
#include "tautline/pipeline/photons/fit/model.h"
#include "tautline/pipeline/photons/fit_curves.h"

namespace tautline::python {

namespace {

// The input and the result of a fit.
struct Fit {
  std::shared_ptr<const core::CorrelationCurves> curves;
  pipeline::FitResult result;
};

template <class Get>
nb::object of_each(const Fit& fit, const Get& get) {
  std::vector<double> values;
  for (const auto& one : fit.result.fits) values.push_back(get(one));
  return as_array(std::move(values));
}

nb::object fit_curves(const std::shared_ptr<core::CorrelationCurves>& curves,
                      const std::vector<std::string>& paths,
                      const std::map<std::string, std::string>& facts_of_curves,
                      const nb::dict& options, const std::string& history,
                      const nb::object& progress) {
  pipeline::FitConfig config;
  set_fields(config, options);
  config.history = history;
  core::check(config);
  pipeline::assume_kappa(config);
  auto fit = std::make_shared<Fit>();
  fit->curves = curves;
  run_interruptibly(progress, [&](const std::stop_token& stop, const auto& tell) {
    std::vector<formats::curves::CurvesFacts> facts(paths.size() > 1 ? 0 : 1);
    if (fit->curves) facts.front().extra = facts_of_curves;
    if (!fit->curves)
      fit->curves = std::make_shared<core::CorrelationCurves>(
          paths.size() == 1 ? formats::curves::read_set(paths.front(), &facts.front())
                            : formats::curves::read_sets(paths, &facts));
    const std::uint64_t all = fit->curves->curves;
    const auto names = paths.empty() ? std::vector<std::string>{"curves"} : paths;
    fit->result = pipeline::fit_curves(
        *fit->curves, config,
        [&](double share) {
          pipeline::Progress now;
          now.samples = static_cast<std::uint64_t>(share * static_cast<double>(all));
          now.total_samples = all;
          tell(now);
        },
        stop, pipeline::stopped_curves(*fit->curves, names, facts));
    pipeline::name_changes_of_rates(*fit->curves, names, facts, fit->result);
    return 0;
  });
  return nb::cast(fit);
}

// Value or standard error of a parameter of each curve; NaN where there was no fit.
nb::object parameter(const Fit& fit, std::size_t index, bool error) {
  return of_each(fit, [&](const pipeline::CurveFit& one) {
    const auto& of = error ? one.solution.standard_errors : one.solution.values;
    return index < of.size() ? of[index] : std::numeric_limits<double>::quiet_NaN();
  });
}

// [curve][lag]; NaN where there was no fit.
nb::object model_curves(const Fit& fit, const std::vector<double>& lags) {
  std::vector<double> g;
  const std::size_t parameters = fit.result.parameters.size();
  for (const auto& one : fit.result.fits)
    for (const double lag : lags)
      g.push_back(one.solution.values.size() == parameters
                      ? pipeline::fit::evaluate(fit.result.model, one.solution.values, lag, {})
                      : std::numeric_limits<double>::quiet_NaN());
  return as_array(std::move(g), {fit.result.fits.size(), lags.size()});
}

}  // namespace

void bind_fits(nb::module_& module) {
  nb::class_<Fit>(module, "Fit")
      .def("names",
           [](const Fit& fit) {
             std::vector<std::string> names;
             for (const auto& one : fit.result.parameters) names.push_back(one.name);
             return names;
           })
      .def("parameter", parameter, nb::arg("index"), nb::arg("error"))
      .def("curves", model_curves, nb::arg("lags"))
      .def("model", [](const Fit& fit) { return pipeline::fit::name_of(fit.result.model); })
      .def("status",
           [](const Fit& fit) {
             std::vector<std::string> all;
             for (const auto& one : fit.result.fits) all.push_back(one.status);
             return all;
           })
      .def("reduced_chi2",
           [](const Fit& fit) {
             return of_each(fit, [](const auto& one) { return one.reduced_chi_squared(); });
           })
      .def("d_um2_per_s",
           [](const Fit& fit) {
             return of_each(fit, [](const auto& one) { return one.d_um2_per_s; });
           })
      .def("d_error",
           [](const Fit& fit) { return of_each(fit, [](const auto& one) { return one.d_error; }); })
      .def("g0",
           [](const Fit& fit) { return of_each(fit, [](const auto& one) { return one.g0; }); })
      .def("lag_s", [](const Fit& fit) { return as_array(fit.result.lag_s); })
      .def("weighted", [](const Fit& fit) { return fit.result.weighted; })
      .def("warnings", [](const Fit& fit) { return fit.result.warnings; })
      .def("medians",
           [](const Fit& fit) {
             nb::dict medians;
             for (const auto& [name, value] : fit.result.medians) medians[name.c_str()] = value;
             return medians;
           })
      .def("csv", [](const Fit& fit, const std::string& history) {
        return pipeline::fit_csv(fit.result, *fit.curves, history);
      });
  module.def("fit", fit_curves, nb::arg("curves").none(), nb::arg("paths"), nb::arg("facts"),
             nb::arg("options"), nb::arg("history"), nb::arg("progress").none());
}

}  // namespace tautline::python

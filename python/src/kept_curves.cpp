// Correlation curves for Python: what they hold, and their files.
#include <limits>

#include "bindings.h"
#include "curves_state.h"
#include "tautline/core/correlation_curve.h"
#include "tautline/formats/curves/curves.h"

namespace tautline::python {

namespace {

using core::Error;
using core::ErrorKind;

// [curve][lag]; NaN where the curves have none, as those of other programs' files.
nb::object table_of(const core::CorrelationCurves& c, const std::vector<double>& values) {
  const std::size_t size = c.curves * c.lags;
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  return as_array(values.size() == size ? values : std::vector<double>(size, kNone),
                  {c.curves, c.lags});
}

void write_curves(const core::CorrelationCurves& curves, const std::string& path,
                  const std::string& history, bool overwrite) {
  namespace files = formats::curves;
  const files::CurvesFacts facts{history, {}};
  if (path.ends_with(".h5")) return files::write_hdf5(path, curves, facts, overwrite);
  std::vector<core::CorrelationCurve> each;
  for (std::size_t k = 0; k < curves.curves; ++k) each.push_back(curves.curve(k));
  if (path.ends_with(".zip")) return files::write_zip(path, each, facts, overwrite);
  if (!path.ends_with(".csv"))
    throw Error(ErrorKind::config, "path", path, "a name that ends in .csv, .zip or .h5");
  if (each.size() != 1)
    throw Error(ErrorKind::config, "path", path + " for " + std::to_string(each.size()) + " curves",
                ".zip or .h5, which hold several");
  files::write_csv(path, each.front(), facts, overwrite);
}

nb::object read_curves(const std::string& path) {
  formats::curves::CurvesFacts said;
  std::shared_ptr<core::CorrelationCurves> curves;
  {
    const Unlocked unlocked;
    curves = std::make_shared<core::CorrelationCurves>(formats::curves::read_set(path, &said));
  }
  nb::dict facts;
  for (const auto& [key, value] : said.extra) facts[key.c_str()] = value;
  facts["history"] = said.history;
  return nb::make_tuple(curves, facts);
}

}  // namespace

void bind_curves(nb::module_& module) {
  using Curves = core::CorrelationCurves;
  nb::class_<Curves>(module, "Curves")
      .def("__getstate__", state_of)
      .def("__setstate__",
           [](Curves& curves, const nb::tuple& state) { new (&curves) Curves(curves_of(state)); })
      .def("lag_s", [](const Curves& c) { return as_array(c.lag_s); })
      .def("lag_samples", [](const Curves& c) { return as_array(c.lag_samples); })
      .def("counts", [](const Curves& c) { return as_array(c.counts); })
      .def("g", [](const Curves& c) { return table_of(c, c.g); })
      .def("standard_error", [](const Curves& c) { return table_of(c, c.standard_error); })
      .def("sums",
           [](const Curves& c) {
             if (c.sums.empty()) return table_of(c, c.sums_float);
             return as_array(c.sums, {c.curves, c.lags});
           })
      .def("labels",
           [](const Curves& c) {
             std::vector<std::pair<std::string, std::string>> labels;
             for (std::size_t k = 0; k < c.first.size(); ++k)
               labels.emplace_back(c.first[k].label, c.cross ? c.second[k].label : "");
             return labels;
           })
      .def("rates_hz",
           [](const Curves& c) {
             std::vector<double> rates;
             for (const auto& signal : c.first) rates.push_back(signal.mean_rate_hz);
             return as_array(std::move(rates));
           })
      .def("bin_s", [](const Curves& c) { return c.bin_s; })
      .def("duration_s", [](const Curves& c) { return c.duration_s; })
      .def("cross", [](const Curves& c) { return c.cross; })
      .def(
          "write",
          [](const Curves& curves, const std::string& path, const std::string& history,
             bool overwrite) {
            const Unlocked unlocked;
            write_curves(curves, path, history, overwrite);
          },
          nb::arg("path"), nb::arg("history"), nb::arg("overwrite"));
  // Curves, and what the file says of them.
  module.def("read_curves", read_curves, nb::arg("path"));
}

}  // namespace tautline::python

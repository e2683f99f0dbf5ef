#include "tautline/pipeline/photons/curve_output.h"

#include <vector>

#include "tautline/core/error.h"
#include "tautline/formats/partial_file.h"

namespace tautline::pipeline {

void check_curve_output(const std::string& path, bool overwrite) {
  if (!path.ends_with(".csv") && !path.ends_with(".zip") && !path.ends_with(".h5"))
    throw core::Error(core::ErrorKind::config, "output", path,
                      "a name that ends in .csv, .zip or .h5");
  formats::PartialPath(path, overwrite);
  if (path.ends_with(".csv")) formats::PartialPath(formats::curves::trace_path(path), overwrite);
}

std::string window_path(const std::string& path) {
  using formats::curves::kTableEnding;
  const std::size_t dot =
      path.ends_with(kTableEnding) ? path.size() - kTableEnding.size() : path.rfind('.');
  return path.substr(0, dot) + ".window" + path.substr(dot);
}

void check_curves_fit(const std::string& path, std::size_t curves, bool only_zero_lag) {
  if (only_zero_lag && !path.ends_with(".h5"))
    throw core::Error(core::ErrorKind::config, "output", path + " for lag 0 alone",
                      "lags above 0 in a .csv", "take more `bins` or `levels`, or write .h5");
  if (curves == 0)
    throw core::Error(core::ErrorKind::config, "mask_path", "no sensor is good", "at least one",
                      "check the mask");
  if (path.ends_with(".csv") && curves > 1)
    throw core::Error(core::ErrorKind::config, "output",
                      path + " for " + std::to_string(curves) + " curves", "one curve in a .csv",
                      "name a .zip of CSVs, or a .h5");
}

void write_curves(const std::string& path, const core::CorrelationCurves& curves,
                  const formats::curves::CurvesFacts& facts, bool overwrite) {
  if (path.ends_with(".h5")) return formats::curves::write_hdf5(path, curves, facts, overwrite);
  std::vector<core::CorrelationCurve> chosen;
  for (std::size_t p = 0; p < curves.curves; ++p)
    if (curves.mask[p] != 0) chosen.push_back(curves.curve(p));
  if (path.ends_with(".zip")) return formats::curves::write_zip(path, chosen, facts, overwrite);
  formats::curves::write_csv(path, chosen.front(), facts, overwrite);
}

}  // namespace tautline::pipeline

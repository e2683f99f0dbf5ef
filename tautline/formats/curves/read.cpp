// Any file of curves, told by its name; one file's curves as one set.
#include <algorithm>
#include <filesystem>
#include <limits>
#include <utility>

#include "tautline/core/error.h"
#include "tautline/formats/curves/curves.h"
#include "tautline/formats/file_formats.h"
#include "tautline/formats/input_file.h"
#include "tautline/formats/seeming_kind.h"
#include "tautline/formats/text.h"
#ifdef TAUTLINE_HDF5
#include "tautline/formats/curves_hdf5/curves_hdf5.h"
#include "tautline/formats/photon_hdf5/photon_hdf5.h"
#endif

namespace tautline::formats::curves {

namespace {

bool is_hdf5(const std::string& name) {
  return name.ends_with(".h5") || name.ends_with(".hdf5");
}

std::vector<double> all_lags(const std::vector<core::CorrelationCurve>& curves) {
  std::vector<double> all;
  for (const core::CorrelationCurve& curve : curves)
    all.insert(all.end(), curve.lag_s.begin(), curve.lag_s.end());
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

// A curve's values at the places of its lags among all lags; NaN at the other lags.
void append(std::vector<double>& all, const std::vector<double>& lags,
            const core::CorrelationCurve& curve, const std::vector<double>& values) {
  const std::size_t first = all.size();
  if (curve.lag_s == lags && values.size() == lags.size()) {
    all.insert(all.end(), values.begin(), values.end());
    return;
  }
  all.resize(first + lags.size(), std::numeric_limits<double>::quiet_NaN());
  for (std::size_t l = 0; l < std::min(values.size(), curve.lag_s.size()); ++l) {
    const auto at = std::lower_bound(lags.begin(), lags.end(), curve.lag_s[l]);
    all[first + static_cast<std::size_t>(at - lags.begin())] = values[l];
  }
}

}  // namespace

bool recognise(const std::string& name) {
  return find_format(&FileFormat::read_curves, {}, name) != nullptr;
}

bool holds_curves(const std::string& path) {
  if (!recognise(path)) return false;
#ifdef TAUTLINE_HDF5
  if (is_hdf5(path)) return !photon_hdf5::holds_photons(path);
#endif
  return true;
}

CurveFile read(const std::string& path) {
  if (const FileFormat* format = find_format(&FileFormat::read_curves, {}, path))
    return format->read_curves(path);
  const InputFile there(path);  // throws with the reason where it cannot be opened, or is none
  throw format_error(path, "name", path,
                     "a name ending in " + endings_of(formats_with(&FileFormat::read_curves)),
                     commands_for(path));
}

CurveFile read_hdf5_file(const std::string& path) {
  CurvesFacts facts;
  const core::CorrelationCurves set = read_hdf5(path, &facts);
  CurveFile file;
  file.format = "HDF5";
  for (std::size_t k = 0; k < set.curves; ++k) file.curves.push_back(set.curve(k));
  file.facts = facts.extra;
  file.facts["history"] = facts.history;
  return file;
}

namespace {

core::CorrelationCurves set_of(const std::vector<core::CorrelationCurve>& curves) {
  core::CorrelationCurves set;
  const core::CorrelationCurve& model = curves.front();
  set.lag_s = curves.size() == 1 ? model.lag_s : all_lags(curves);
  set.lags = set.lag_s.size();
  set.bin_s = model.bin_s;
  set.duration_s = model.duration_s;
  set.normalization = model.normalization;
  set.detrended = model.detrended;
  bool errors = false;
  for (const core::CorrelationCurve& curve : curves) {
    set.cross = set.cross || curve.cross;
    append(set.g, set.lag_s, curve, curve.g);
    append(set.standard_error, set.lag_s, curve, curve.standard_error);
    errors = errors || !curve.standard_error.empty();
    if (curve.normalization == core::Normalization::none) set.normalization = curve.normalization;
    set.first.push_back(curve.first);
    set.second.push_back(curve.second);
    ++set.curves;
  }
  if (!errors) set.standard_error.clear();
  return set;
}

}  // namespace

core::CorrelationCurves read_set(const std::string& path, CurvesFacts* facts) {
  if (is_hdf5(lower(path))) return read_hdf5(path, facts);
  const CurveFile file = read(path);
  if (facts != nullptr) facts->extra = file.facts;
  return set_of(file.curves);
}

core::CorrelationCurves read_sets(const std::vector<std::string>& paths,
                                  std::vector<CurvesFacts>* facts) {
  std::vector<core::CorrelationCurve> all;
  for (const std::string& path : paths) {
    CurveFile file = read(path);
    if (facts != nullptr) facts->push_back({{}, std::move(file.facts), file.curves.size()});
    for (core::CorrelationCurve& curve : file.curves) {
      curve.first.label = std::filesystem::path(path).stem().string() + ": " + curve.first.label;
      all.push_back(std::move(curve));
    }
  }
  return set_of(all);
}

#ifdef TAUTLINE_HDF5

void write_hdf5(const std::string& path, const core::CorrelationCurves& curves,
                const CurvesFacts& facts, bool overwrite) {
  curves_hdf5::write(path, curves, facts, overwrite);
}

core::CorrelationCurves read_hdf5(const std::string& path, CurvesFacts* facts) {
  return curves_hdf5::read(path, facts);
}

#else

namespace {
core::Error no_hdf5(const std::string& path) {
  return {core::ErrorKind::unsupported, path, "HDF5", "a build with HDF5",
          "install libhdf5-dev and build with -DTAUTLINE_HDF5=ON"};
}
}  // namespace

void write_hdf5(const std::string& path, const core::CorrelationCurves&, const CurvesFacts&, bool) {
  throw no_hdf5(path);
}

core::CorrelationCurves read_hdf5(const std::string& path, CurvesFacts*) {
  throw no_hdf5(path);
}

#endif

}  // namespace tautline::formats::curves

// Any file of curves, told by its name; one file's curves as one set.
#include <cmath>
#include <limits>

#include "tautline/core/error.h"
#include "tautline/formats/curves/curves.h"
#include "tautline/formats/file_formats.h"
#include "tautline/formats/input_file.h"
#include "tautline/formats/text.h"
#ifdef TAUTLINE_HDF5
#include "tautline/formats/curves_hdf5/curves_hdf5.h"
#endif

namespace tautline::formats::curves {

namespace {

bool is_hdf5(const std::string& name) {
  return name.ends_with(".h5") || name.ends_with(".hdf5");
}

void append(std::vector<double>& all, const std::vector<double>& values, std::size_t lags) {
  all.insert(all.end(), values.begin(), values.end());
  all.resize(all.size() + lags - values.size(), std::numeric_limits<double>::quiet_NaN());
}

}  // namespace

bool recognise(const std::string& name) {
  return find_format(&FileFormat::read_curves, {}, name) != nullptr;
}

CurveFile read(const std::string& path) {
  if (const FileFormat* format = find_format(&FileFormat::read_curves, {}, path))
    return format->read_curves(path);
  throw format_error(path, "name", path,
                     "a name ending in " + endings_of(formats_with(&FileFormat::read_curves)));
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

core::CorrelationCurves read_set(const std::string& path, CurvesFacts* facts) {
  if (is_hdf5(lower(path))) return read_hdf5(path, facts);
  const CurveFile file = read(path);
  core::CorrelationCurves set;
  const core::CorrelationCurve& model = file.curves.front();
  set.lags = model.lag_s.size();
  set.lag_s = model.lag_s;
  set.bin_s = model.bin_s;
  set.duration_s = model.duration_s;
  set.cross = model.cross;
  set.normalization = model.normalization;
  set.detrended = model.detrended;
  bool errors = false;
  for (const core::CorrelationCurve& curve : file.curves) {
    if (curve.lag_s != set.lag_s)
      throw format_error(path, "lags of curve " + std::to_string(set.curves + 1), "others",
                         "those of the first curve");
    append(set.g, curve.g, set.lags);
    append(set.standard_error, curve.standard_error, set.lags);
    errors = errors || !curve.standard_error.empty();
    set.first.push_back(curve.first);
    set.second.push_back(curve.second);
    ++set.curves;
  }
  if (!errors) set.standard_error.clear();
  if (facts != nullptr) facts->extra = file.facts;
  return set;
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

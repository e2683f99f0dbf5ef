#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "tautline/formats/curves_hdf5/curves_hdf5.h"
#include "tautline/formats/seeming_kind.h"
#include "tautline/formats/uvh5/hdf5_input.h"

namespace tautline::formats::curves_hdf5 {

namespace {

using core::CorrelationCurves;
using core::CurveSignal;
using hdf5::Hdf5Input;

constexpr const char* kExpected = "HDF5 of correlation curves (.h5)";
// More than this is not a table of curves that fits into memory.
constexpr hsize_t kMostValues = hsize_t{1} << 33;

// Whether a dataset is there, of shape [sensor][columns].
bool has_table(const Hdf5Input& file, const std::string& name, const CorrelationCurves& c,
               std::size_t columns) {
  if (!file.has(name)) return false;
  const auto shape = file.shape(name);
  if (shape != std::vector<hsize_t>{c.curves, columns})
    file.fail(name, fmt::format("shape ({})", fmt::join(shape, ", ")),
              fmt::format("({}, {}){}", c.curves, columns, columns == c.lags ? ", as g has" : ""));
  return true;
}

bool has_table(const Hdf5Input& file, const std::string& name, const CorrelationCurves& c) {
  return has_table(file, name, c, c.lags);
}

void read_shape(const Hdf5Input& file, CorrelationCurves& c) {
  const auto shape = file.shape("g");
  if (shape.size() != 2 || shape[0] == 0 || shape[1] == 0 || shape[0] > kMostValues / shape[1])
    file.fail("g", fmt::format("shape ({})", fmt::join(shape, ", ")), "[sensor][lag]",
              "is this a file of curves, as autocorrelate writes it?");
  c.curves = static_cast<std::size_t>(shape[0]);
  c.lags = static_cast<std::size_t>(shape[1]);
}

core::Normalization normalization_of(const Hdf5Input& file) {
  const std::string name =
      file.has("normalization") ? file.text("normalization").value_or("") : "symmetric";
  if (const auto known = core::parse_normalization(name)) return *known;
  file.fail("normalization", name, "none, global or symmetric");
}

std::vector<CurveSignal> read_signals(const Hdf5Input& file, const std::string& prefix,
                                      std::size_t curves) {
  std::vector<CurveSignal> signals(curves);
  const auto each = [&](const std::string& name, auto read, auto put) {
    if (!file.has(prefix + name)) return;
    const auto values = read(prefix + name);
    for (std::size_t s = 0; s < curves; ++s) put(signals[s], values[s]);
  };
  const auto integers = [&](const std::string& name) { return file.integers(name, curves); };
  const auto numbers = [&](const std::string& name) { return file.numbers(name, curves); };
  const auto texts = [&](const std::string& name) { return file.texts(name, curves); };
  each("row", integers, [](CurveSignal& s, std::int64_t v) { s.row = v; });
  each("column", integers, [](CurveSignal& s, std::int64_t v) { s.column = v; });
  each("mean_rate_hz", numbers, [](CurveSignal& s, double v) { s.mean_rate_hz = v; });
  each("label", texts, [](CurveSignal& s, const std::string& v) { s.label = v; });
  if (!file.has("trace_s") || !file.has(prefix + "trace_khz")) return signals;
  const auto shape = file.shape("trace_s");
  const std::size_t steps = shape.size() == 1 ? static_cast<std::size_t>(shape[0]) : 0;
  const std::vector<double> time_s = file.numbers("trace_s", steps);
  const std::vector<double> rates = file.numbers(prefix + "trace_khz", steps * curves);
  for (std::size_t s = 0; s < curves; ++s) {
    signals[s].trace.time_s = time_s;
    const auto first = rates.begin() + static_cast<std::ptrdiff_t>(s * steps);
    signals[s].trace.rate_khz.assign(first, first + static_cast<std::ptrdiff_t>(steps));
  }
  return signals;
}

void read_sums(const Hdf5Input& file, CorrelationCurves& c) {
  const auto table = [&](const std::string& name, std::size_t columns,
                         std::vector<std::int64_t>& exact, std::vector<double>& inexact) {
    if (!has_table(file, name, c, columns)) return;
    if (file.is_integer(name))
      exact = file.integers(name, c.curves * columns);
    else
      inexact = file.numbers(name, c.curves * columns);
  };
  table("sums", c.lags, c.sums, c.sums_float);
  table("lead_in", c.lags, c.lead_in, c.lead_in_float);
  table("totals", 2, c.totals, c.totals_float);
  table("monitor_direct", c.lags, c.monitor_direct, c.monitor_direct_float);
  table("monitor_delayed", c.lags, c.monitor_delayed, c.monitor_delayed_float);
  if (!has_table(file, "counts", c)) return;
  c.counts.resize(c.lags);
  file.rows("counts", H5T_NATIVE_INT64, 0, 1, 1, c.counts.data());
}

void read_segments(const Hdf5Input& file, CorrelationCurves& c) {
  if (!file.has("segment_g")) return;
  const auto shape = file.shape("segment_g");
  if (shape.size() != 3 || shape[1] != c.curves || shape[2] != c.lags || shape[0] == 0 ||
      shape[0] > kMostValues / (c.curves * c.lags))
    file.fail("segment_g", fmt::format("shape ({})", fmt::join(shape, ", ")),
              "[segment][sensor][lag], as g has");
  c.segments = static_cast<std::size_t>(shape[0]);
  c.segment_g.resize(c.segments * c.curves * c.lags);
  file.rows("segment_g", H5T_NATIVE_FLOAT, 0, shape[0], 1, c.segment_g.data());
  if (!file.has("segment_counts")) return;
  if (file.shape("segment_counts") != std::vector<hsize_t>{shape[0], c.lags})
    file.fail("segment_counts",
              fmt::format("shape ({})", fmt::join(file.shape("segment_counts"), ", ")),
              fmt::format("({}, {}), as segment_g has", shape[0], c.lags));
  c.segment_counts = file.integers("segment_counts", c.segments * c.lags);
}

double number_or(const Hdf5Input& file, const std::string& name, double missing) {
  return file.has(name) ? file.number(name) : missing;
}

bool truth_of(const Hdf5Input& file, const std::string& name) {
  return file.has(name) && file.truth(name);
}

void read_mask(const Hdf5Input& file, CorrelationCurves& c) {
  if (!file.has("mask")) return;
  if (file.shape("mask") != std::vector<hsize_t>{c.curves})
    file.fail("mask", fmt::format("shape ({})", fmt::join(file.shape("mask"), ", ")),
              std::to_string(c.curves) + " values");
  std::vector<std::int8_t> mask(c.curves);
  file.rows("mask", hdf5::bool_type().get(), 0, c.curves, 1, mask.data());
  c.mask.assign(mask.begin(), mask.end());
}

}  // namespace

bool holds_curves(const std::string& path) {
  const hdf5::QuietErrors quiet;
  try {
    const Hdf5Input file(path, kExpected);
    return file.has("lag_s") && file.has("g");
  } catch (const core::Error&) {
    return false;
  }
}

CorrelationCurves read(const std::string& path, curves::CurvesFacts* facts) {
  const hdf5::QuietErrors quiet;
  const Hdf5Input file(path, kExpected);
  if (!file.has("lag_s") && !file.has("g"))
    throw other_kind(path, kExpected, "is this a file of curves, as autocorrelate writes it?");
  CorrelationCurves c;
  read_shape(file, c);
  c.lag_s = file.numbers("lag_s", c.lags);
  if (file.has("lag_samples")) {
    const auto samples = file.integers("lag_samples", c.lags);
    c.lag_samples.assign(samples.begin(), samples.end());
  }
  c.g = file.numbers("g", c.curves * c.lags);
  if (has_table(file, "sem", c)) c.standard_error = file.numbers("sem", c.curves * c.lags);
  // Unknown errors are written as NaN throughout.
  if (std::all_of(c.standard_error.begin(), c.standard_error.end(),
                  [](double error) { return std::isnan(error); }))
    c.standard_error.clear();
  read_segments(file, c);
  read_sums(file, c);
  c.bin_s = number_or(file, "bin_s", 0);
  c.duration_s = number_or(file, "duration_s", 0);
  c.samples = static_cast<std::uint64_t>(std::max(0.0, number_or(file, "samples", 0)));
  c.normalization = normalization_of(file);
  c.cross = truth_of(file, "cross");
  c.detrended = truth_of(file, "detrended");
  c.first = read_signals(file, "", c.curves);
  if (file.has("second_row")) c.second = read_signals(file, "second_", c.curves);
  read_mask(file, c);
  if (facts == nullptr) return c;
  if (file.has("history")) facts->history = file.text("history").value_or("");
  for (const std::string& name : file.names("extra"))
    facts->extra[name] = file.text("extra/" + name).value_or("");
  return c;
}

}  // namespace tautline::formats::curves_hdf5

#include <algorithm>
#include <limits>
#include <span>
#include <utility>

#include "tautline/core/error.h"
#include "tautline/formats/curves_hdf5/curves_hdf5.h"
#include "tautline/formats/partial_file.h"
#include "tautline/formats/uvh5/hdf5_file.h"

namespace tautline::formats::curves_hdf5 {

namespace {

using core::CorrelationCurves;
using core::CurveSignal;
using hdf5::File;
using hdf5::Growing;
using hdf5::Handle;

// A table of rows in one piece, which HDF5 writes without a copy; a reader can take any row alone.
template <class T>
void write_table(File& file, const std::string& name, std::span<const T> values, std::size_t rows) {
  if (rows == 0 || values.empty()) return;
  const hsize_t shape[] = {rows, values.size() / rows};
  file.write(file.root(), name, values, shape);
}

template <class T>
void write_list(File& file, const std::string& name, const std::vector<T>& values) {
  const hsize_t shape[] = {values.size()};
  file.write(file.root(), name, std::span<const T>(values), shape);
}

void write_sums(File& file, const CorrelationCurves& c) {
  const auto either = [&](const std::string& name, const std::vector<std::int64_t>& exact,
                          const std::vector<double>& inexact) {
    write_table(file, name, std::span<const std::int64_t>(exact), c.curves);
    write_table(file, name, std::span<const double>(inexact), c.curves);
  };
  either("sums", c.sums, c.sums_float);
  either("lead_in", c.lead_in, c.lead_in_float);
  either("totals", c.totals, c.totals_float);
  either("monitor_direct", c.monitor_direct, c.monitor_direct_float);
  either("monitor_delayed", c.monitor_delayed, c.monitor_delayed_float);
  std::vector<std::int64_t> counts;
  for (std::size_t s = 0; s < c.curves; ++s)
    counts.insert(counts.end(), c.counts.begin(), c.counts.end());
  write_table(file, "counts", std::span<const std::int64_t>(counts), c.curves);
}

// Traces of one set of steps; others are left out.
void write_traces(File& file, const std::string& prefix, const std::vector<CurveSignal>& signals) {
  const auto& steps = signals.front().trace.time_s;
  std::vector<double> rates;
  rates.reserve(signals.size() * steps.size());
  for (const CurveSignal& signal : signals) {
    if (signal.trace.time_s != steps || signal.trace.rate_khz.size() != steps.size()) return;
    rates.insert(rates.end(), signal.trace.rate_khz.begin(), signal.trace.rate_khz.end());
  }
  if (steps.empty()) return;
  if (prefix.empty()) write_list(file, "trace_s", steps);
  write_table(file, prefix + "trace_khz", std::span<const double>(rates), signals.size());
}

void write_signals(File& file, const std::string& prefix, const std::vector<CurveSignal>& signals) {
  if (signals.empty()) return;
  std::vector<std::int64_t> rows, columns;
  std::vector<double> rates;
  std::vector<std::string> labels;
  for (const CurveSignal& signal : signals) {
    rows.push_back(signal.row);
    columns.push_back(signal.column);
    rates.push_back(signal.mean_rate_hz);
    labels.push_back(signal.label);
  }
  write_list(file, prefix + "row", rows);
  write_list(file, prefix + "column", columns);
  write_list(file, prefix + "mean_rate_hz", rates);
  const hsize_t shape[] = {labels.size()};
  file.write(file.root(), prefix + "label", std::span<const std::string>(labels), shape);
  write_traces(file, prefix, signals);
}

void write_mask(File& file, const CorrelationCurves& c) {
  std::vector<std::int8_t> mask(c.mask.begin(), c.mask.end());
  mask.resize(c.curves, 1);
  Growing list(file, file.root(), "mask", hdf5::bool_type(), {},
               std::max<std::size_t>(1, c.curves));
  list.extend(c.curves);
  list.write(0, c.curves, mask.data());
}

void write_segments(File& file, const CorrelationCurves& c) {
  if (c.segments == 0 || c.segment_g.size() != c.segments * c.curves * c.lags) return;
  const hsize_t shape[] = {c.segments, c.curves, c.lags};
  file.write(file.root(), "segment_g", std::span<const float>(c.segment_g), shape);
  if (c.segment_counts.size() == c.segments * c.lags)
    write_table(file, "segment_counts", std::span<const std::int64_t>(c.segment_counts),
                c.segments);
}

}  // namespace

void write(const std::string& path, const CorrelationCurves& c, const curves::CurvesFacts& facts,
           bool overwrite) {
  if (c.curves == 0 || c.lags == 0 || c.g.size() != c.curves * c.lags || c.lag_s.size() != c.lags ||
      c.first.size() != c.curves || (!c.second.empty() && c.second.size() != c.curves))
    throw core::Error(core::ErrorKind::config, path + ": curves",
                      std::to_string(c.curves) + " of " + std::to_string(c.lags) + " lags",
                      "arrays of g, lags and signals that fit each other, one curve or more");
  const hdf5::QuietErrors quiet;
  PartialPath name(path, overwrite);
  File file(name.partial(), path);
  file.write(file.root(), "schema", std::string("tautline.curves"));
  file.write(file.root(), "schema_version", std::int64_t{1});
  file.write(file.root(), "history", facts.history);
  file.write(file.root(), "bin_s", c.bin_s);
  file.write(file.root(), "duration_s", c.duration_s);
  file.write(file.root(), "samples", static_cast<std::int64_t>(c.samples));
  file.write(file.root(), "normalization", std::string(to_string(c.normalization)));
  file.write_bool(file.root(), "detrended", c.detrended);
  file.write_bool(file.root(), "cross", c.cross);
  write_list(file, "lag_s", c.lag_s);
  if (!c.lag_samples.empty())
    write_list(file, "lag_samples",
               std::vector<std::int64_t>(c.lag_samples.begin(), c.lag_samples.end()));
  write_sums(file, c);
  write_table(file, "g", std::span<const double>(c.g), c.curves);
  std::vector<double> unknown;
  if (c.standard_error.empty())
    unknown.assign(c.g.size(), std::numeric_limits<double>::quiet_NaN());
  write_table(file, "sem", std::span<const double>(unknown.empty() ? c.standard_error : unknown),
              c.curves);
  write_segments(file, c);
  write_signals(file, "", c.first);
  write_signals(file, "second_", c.second);
  write_mask(file, c);
  const Handle extra = file.group(file.root(), "extra");
  for (const auto& [key, value] : facts.extra) file.write(extra.get(), key, value);
  file.close();
  name.finish();
}

}  // namespace tautline::formats::curves_hdf5

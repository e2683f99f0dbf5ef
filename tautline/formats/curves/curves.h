// Files of correlation curves: CSV as PyCorrFit reads it (and .zip of several) or as a table with a heading, read and
// written; Correlator.com's .SIN and ALV's .ASC, read; HDF5 of all sensors, read and written.
// docs/guide/formats.md lists the contents of each.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tautline/core/correlation_curve.h"

namespace tautline::formats::curves {

struct CurveFile {
  std::string format;  ///< "PyCorrFit CSV", "CSV table", "Correlator.com SIN", "ALV ASC", "HDF5"
  std::vector<core::CorrelationCurve> curves;
  std::map<std::string, std::string> facts;  ///< other facts in the file
};

/// Facts that are written beside curves: the command, and device, kernels, input and counters by name.
struct CurvesFacts {
  std::string history;
  std::map<std::string, std::string> extra;
  std::size_t curves = 0;  ///< curves of this file in a set of several files
};

/// Whether a name has the ending of a format with curves (formats/file_formats.h), in either case.
bool recognise(const std::string& name);
/// The same for a file; false for HDF5 files of photons.
bool holds_curves(const std::string& path);

/// Reads a file of any of these formats, recognised by its ending. Throws Error(format) with the line or dataset,
/// Error(unsupported) where this build cannot.
CurveFile read(const std::string& path);

CurveFile read_csv(const std::string& path);
/// The same for a text that was read from `path`.
CurveFile read_csv_text(const std::string& path, std::string_view text);
/// Every .csv in the archive, with its .trace.txt. Error(unsupported) in a build without minizip.
CurveFile read_zip(const std::string& path);
/// G = g2 - 1. Where the file has raw columns, sums are its correlations, counts its samples and
/// monitors its bases, and g is as the file prints it.
CurveFile read_sin(const std::string& path);
CurveFile read_asc(const std::string& path);
CurveFile read_hdf5_file(const std::string& path);

/// The text of one curve's CSV. Lag 0 and lags where g is undefined are left out; so are, when
/// there are standard errors, lags without one (the header says how many). A standard error of zero
/// is written as that of one coincidence. A curve that is undefined at every lag has all lags above 0
/// with nan for g. `facts` go into the comments. Throws Error(unsupported) where no lag is above 0.
std::string csv_text(const core::CorrelationCurve& curve, std::string_view title,
                     const CurvesFacts& facts);

/// The names of the columns, which PyCorrFit would take for numbers, then every lag: as pandas reads it. `nan` for an
/// undefined g or standard error.
inline constexpr std::string_view kTableHeading = "lag_s,g";
std::string table_text(const core::CorrelationCurve& curve, std::string_view title,
                       const CurvesFacts& facts);
/// "G.table.csv"; other CSVs are PyCorrFit's.
inline constexpr std::string_view kTableEnding = ".table.csv";

/// The rates over time: seconds, then kHz of each signal. Empty where the curve has no trace.
std::string trace_text(const core::CorrelationCurve& curve, std::string_view title);
/// The file of the trace that belongs to a CSV: "G.trace.txt" of "G.csv".
std::string trace_path(const std::string& csv_path);
/// Adds the trace of such a file.
void read_trace_text(const std::string& path, std::string_view text, core::CorrelationCurve& curve);

/// A file gets its final name when it is complete, the trace before its curve. Error(io) with the path and the reason.
void write_csv(const std::string& path, const core::CorrelationCurve& curve,
               const CurvesFacts& facts, bool overwrite);

/// One CSV for each curve, named by its label. Error(unsupported) in a build without minizip.
void write_zip(const std::string& path, const std::vector<core::CorrelationCurve>& curves,
               const CurvesFacts& facts, bool overwrite);

/// The datasets of docs/guide/formats.md. Error(unsupported) in a build without HDF5.
void write_hdf5(const std::string& path, const core::CorrelationCurves& curves,
                const CurvesFacts& facts, bool overwrite);
core::CorrelationCurves read_hdf5(const std::string& path, CurvesFacts* facts = nullptr);

/// The curves of one file as one set, whether the file has one curve or many. Where curves differ in their lags (CSVs
/// leave out lags where g is undefined) the set has all lags, and g is NaN where a curve lacks the lag.
core::CorrelationCurves read_set(const std::string& path, CurvesFacts* facts = nullptr);
/// The same for several files; each label begins with the file's name, and curves of segments are left out. `facts`:
/// those of each file.
core::CorrelationCurves read_sets(const std::vector<std::string>& paths,
                                  std::vector<CurvesFacts>* facts = nullptr);

}  // namespace tautline::formats::curves

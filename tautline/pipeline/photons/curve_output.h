// Checks and writes a run's curves, in the format of the file name's ending.
#pragma once

#include <cstddef>
#include <string>

#include "tautline/core/correlation_curve.h"
#include "tautline/formats/curves/curves.h"

namespace tautline::pipeline {

/// Throws Error(config) unless the name's ending is that of an output format, and Error(io) where a file exists: before
/// any computation.
void check_curve_output(const std::string& path, bool overwrite);

/// The file of rolling curves: "night.window.h5" beside "night.h5".
std::string window_path(const std::string& path);

/// Throws Error(config) when the output cannot contain that many curves of good sensors, or only lag 0.
void check_curves_fit(const std::string& path, std::size_t curves, bool only_zero_lag);

/// One curve as CSV (a .table.csv as a table with a heading), several as a .zip of CSVs (masked ones left out), all as HDF5.
void write_curves(const std::string& path, const core::CorrelationCurves& curves,
                  const formats::curves::CurvesFacts& facts, bool overwrite);

}  // namespace tautline::pipeline

// Checks and writes a run's curves, in the format that the ending of the file's name asks for.
#pragma once

#include <cstddef>
#include <string>

#include "tautline/core/correlation_curve.h"
#include "tautline/formats/curves/curves.h"

namespace tautline::pipeline {

/// Throws Error(config) unless the name ends as one that can be written, and Error(io) where a file is in the way: before
/// anything is computed.
void check_curve_output(const std::string& path, bool overwrite);

/// Where rolling curves go beside the others: "night.h5" has "night.window.h5".
std::string window_path(const std::string& path);

/// Throws Error(config) when so many curves of good sensors do not fit the output, or lag 0 alone.
void check_curves_fit(const std::string& path, std::size_t curves, bool only_zero_lag);

/// One curve as CSV, several as a .zip of CSVs (masked ones left out), all as HDF5.
void write_curves(const std::string& path, const core::CorrelationCurves& curves,
                  const formats::curves::CurvesFacts& facts, bool overwrite);

}  // namespace tautline::pipeline

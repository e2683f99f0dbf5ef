// Correlation curves of all sensors in one HDF5 file. docs/guide/formats.md lists the datasets.
#pragma once

#include <string>

#include "tautline/formats/curves/curves.h"

namespace tautline::formats::curves_hdf5 {

/// | dataset                                  | shape                    | type                   |
/// | lag_s, lag_samples                       | [lag]                    | float64, int64         |
/// | sums, lead_in                            | [sensor][lag]            | int64, or float64      |
/// | monitor_direct, monitor_delayed          | [sensor][lag]            | int64, or float64      |
/// | totals                                   | [sensor][2]              | int64, or float64      |
/// | counts                                   | [sensor][lag]            | int64                  |
/// | g, sem                                   | [sensor][lag]            | float64                |
/// | segment_g, where it was kept             | [segment][sensor][lag]   | float32                |
/// | segment_counts, where segment_g is       | [segment][lag]           | int64                  |
/// | row, column                              | [sensor]                 | int64, -1: none        |
/// | mask                                     | [sensor]                 | boolean, true: good    |
/// | mean_rate_hz                             | [sensor]                 | float64                |
/// | label                                    | [sensor]                 | text                   |
/// | trace_s, trace_khz                       | [step], [sensor][step]   | float64                |
/// | second_row, ... of pairs                 | as those of the first    |                        |
/// | schema, schema_version, history, bin_s, duration_s, samples, normalization, detrended, cross |
/// | extra/NAME                               |                          | text                   |
void write(const std::string& path, const core::CorrelationCurves& curves,
           const curves::CurvesFacts& facts, bool overwrite);

/// Whether an HDF5 file has curves; false for any other file.
bool holds_curves(const std::string& path);

/// Throws Error(format) that names the dataset and the fault of its shape.
core::CorrelationCurves read(const std::string& path, curves::CurvesFacts* facts);

}  // namespace tautline::formats::curves_hdf5

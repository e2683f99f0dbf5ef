// Where curves go to, by the names of the files.
#pragma once

#include <string>

#include "tautline/pipeline/photons/autocorrelate_counts.h"

namespace tautline::pipeline {

/// Throws Error(config) unless the output's name ends as one that can be written, before anything
/// is computed.
void check_curve_output(const AutocorrelateConfig& config);

/// Throws Error(config) when so many curves of good sensors do not fit the output.
void check_curve_count(const AutocorrelateConfig& config, std::size_t curves);

/// One curve as CSV, several as a .zip of CSVs (masked ones left out), all as HDF5.
void write_curves(const AutocorrelateConfig& config, const core::CorrelationCurves& curves,
                  const AutocorrelateSummary& summary, const std::string& device);

}  // namespace tautline::pipeline

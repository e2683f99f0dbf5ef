// Fits correlation curves: numbers of particles and diffusion times, sensor by sensor.
#pragma once

#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "tautline/core/correlation_curve.h"
#include "tautline/formats/curves/curves.h"
#include "tautline/pipeline/photons/fit_config.h"
#include "tautline/pipeline/photons/fit_result.h"

namespace tautline::pipeline {

using FitProgress = std::function<void(double)>;

/// Fits every curve. Throws Error(config) naming the parameter or the range. `stopped`: stopped_curves(), whose fits are
/// doubtful; empty: none.
FitResult fit_curves(const core::CorrelationCurves& curves, const FitConfig& config,
                     const FitProgress& progress = {}, std::stop_token stop = {},
                     const std::vector<bool>& stopped = {});

/// One line for each curve: sensor, label, row, column, status, each parameter and its error, d,
/// g0, chi2, degrees of freedom, reduced_chi2 (NaN unweighted), rate_hz, brightness_hz (rate / n).
std::string fit_csv(const FitResult& result, const core::CorrelationCurves& curves,
                    const std::string& history);

/// For each curve whether its file's correlator reported that a sensor of it stopped: stops distort a curve, however
/// good its fit.
std::vector<bool> stopped_curves(const core::CorrelationCurves& curves,
                                 const std::vector<std::string>& paths,
                                 const std::vector<formats::curves::CurvesFacts>& facts);

/// Adds a warning for each file whose correlator reported stopped sensors, and for curves whose rates step or change
/// slowly.
void name_changes_of_rates(const core::CorrelationCurves& curves,
                           const std::vector<std::string>& paths,
                           const std::vector<formats::curves::CurvesFacts>& facts,
                           FitResult& result);

/// Reads config.input, fits, and writes what config names.
FitResult fit_file(const FitConfig& config, const FitProgress& progress = {},
                   std::stop_token stop = {});

}  // namespace tautline::pipeline

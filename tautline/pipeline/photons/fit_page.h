// The HTML page of a fit: curves with their residuals, and maps of the fitted parameters.
#pragma once

#include <string>

#include "tautline/core/correlation_curve.h"
#include "tautline/pipeline/photons/fit_config.h"
#include "tautline/pipeline/photons/fit_result.h"

namespace tautline::pipeline::report {

/// The page's one message. It has the curves of at most kMostCurves sensors, the first and the last among them; maps
/// and the table have all sensors.
inline constexpr std::size_t kMostCurves = 4096;
std::string fit_message(const FitResult& result, const core::CorrelationCurves& curves,
                        const FitConfig& config);

/// The self-contained page.
std::string fit_page(const FitResult& result, const core::CorrelationCurves& curves,
                     const FitConfig& config);

/// Writes it. Throws Error(io); an existing one is refused unless `overwrite`.
void write_fit_page(const std::string& path, const FitResult& result,
                    const core::CorrelationCurves& curves, const FitConfig& config, bool overwrite);

}  // namespace tautline::pipeline::report

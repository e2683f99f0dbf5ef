// Files of counts to correlation curves: the whole run of `tautline autocorrelate`.
#pragma once

#include <memory>
#include <stop_token>

#include "tautline/core/correlation_curve.h"
#include "tautline/device/device.h"
#include "tautline/pipeline/photons/autocorrelate_config.h"
#include "tautline/pipeline/photons/autocorrelate_summary.h"
#include "tautline/pipeline/progress.h"

namespace tautline::pipeline {

/// Reads, correlates and normalises. Throws core::Error, also for a live run that ends before its first whole sample;
/// only a state is written then.
core::CorrelationCurves correlate_counts(const AutocorrelateConfig& config,
                                         std::shared_ptr<const device::Device> device,
                                         AutocorrelateSummary& summary,
                                         const ProgressCallback& progress = {},
                                         std::stop_token stop = {});

/// The same, into config.output.
AutocorrelateSummary autocorrelate_counts(const AutocorrelateConfig& config,
                                          std::shared_ptr<const device::Device> device,
                                          const ProgressCallback& progress = {},
                                          std::stop_token stop = {});

}  // namespace tautline::pipeline

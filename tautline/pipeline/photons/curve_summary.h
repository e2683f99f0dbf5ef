// The summary of an autocorrelation run: names of the curves, rates, warnings.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "tautline/core/correlation_curve.h"
#include "tautline/formats/count_reader.h"
#include "tautline/pipeline/photons/autocorrelate_config.h"
#include "tautline/pipeline/photons/autocorrelate_summary.h"
#include "tautline/pipeline/photons/count_source_node.h"
#include "tautline/pipeline/photons/sensor_map.h"

namespace tautline::pipeline {

/// Reports the padding left out before and after the input's samples [first, first + samples), the `stops` among these,
/// those of the input that are correlated, and the empty stretches of a run that begins with the input's sample `run_first`.
EmptyCountsFound name_empty(const CountStream& input, std::uint64_t samples,
                            std::span<const BinRange> stops, std::vector<SensorStretch> stretches,
                            std::int64_t run_first);

/// Converts bins to seconds, with bins of summary.bin_s, and names the signals; then counts masked, undefined and too
/// long curves and lags in the summary, and adds its warnings.
void describe_curves(const AutocorrelateConfig& config,
                     const formats::CountDescription& description, const SensorMap& map,
                     core::CorrelationCurves& curves, AutocorrelateSummary& summary);

/// The provenance of the curves, for outputs. `device`: the device that correlated.
std::map<std::string, std::string> curve_facts(const AutocorrelateConfig& config,
                                               const std::string& input,
                                               const AutocorrelateSummary& summary,
                                               const std::string& device);

}  // namespace tautline::pipeline

// The summary of an autocorrelation run: names of the curves, rates, warnings.
#pragma once

#include <map>
#include <string>

#include "tautline/core/correlation_curve.h"
#include "tautline/formats/count_reader.h"
#include "tautline/pipeline/photons/autocorrelate_counts.h"
#include "tautline/pipeline/photons/count_source_node.h"
#include "tautline/pipeline/photons/sensor_map.h"

namespace tautline::pipeline {

/// The padding that was left out before and after the input's samples [first, first + samples), and the stretches of a
/// run whose first sample is the input's `run_first`.
EmptyCountsFound name_empty(const CountStream& input, std::uint64_t samples,
                            std::vector<SensorStretch> stretches, std::int64_t run_first);

/// Turns bins into seconds, of the length summary.bin_s, and names the signals; then counts what is
/// masked, undefined or too long into the summary, and adds its warnings.
void describe_curves(const AutocorrelateConfig& config,
                     const formats::CountDescription& description, const SensorMap& map,
                     core::CorrelationCurves& curves, AutocorrelateSummary& summary);

/// What outputs say of how the curves came about. `device`: what worked on them.
std::map<std::string, std::string> curve_facts(const AutocorrelateConfig& config,
                                               const std::string& input,
                                               const AutocorrelateSummary& summary,
                                               const std::string& device);

}  // namespace tautline::pipeline

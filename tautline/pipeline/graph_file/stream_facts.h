// Facts about a stream by name, for programs that look at a graph from outside (Python).
#pragma once

#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "tautline/core/correlation_curve.h"
#include "tautline/engine/block.h"

namespace tautline::pipeline {

using StreamFact = std::variant<double, std::string, std::vector<double>>;

/// By name with its unit; of kinds that are not listed none.
///
/// | kind         | facts                                                                     |
/// | raw voltages | rate_hz, centre_hz, bandwidth_hz, inputs, channels, polarisations, format |
/// | spectra      | frequencies_hz [channel], inputs, format                                  |
/// | visibilities | frequencies_hz [channel], inputs, integration_s                           |
/// | filterbank   | frequencies_mhz [channel], sample_time_s, source, telescope               |
/// | trials       | dms [trial], sample_time_s, dm_constant, f_ref_mhz                        |
/// | counts       | bin_s, sensors; of photons, too                                           |
std::map<std::string, StreamFact> facts_of(const engine::Stream& stream);

/// What a block of kind "curves" carries; null: one of another kind.
std::shared_ptr<const core::CorrelationCurves> curves_of(const engine::Block& block);

}  // namespace tautline::pipeline

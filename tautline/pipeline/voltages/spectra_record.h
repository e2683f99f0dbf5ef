// The record beside a file of spectra, whose format has no fields for frequencies and gains.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "tautline/pipeline/voltages/voltage_streams.h"

namespace tautline::pipeline {

/// Adds `channel_hz` [channel], `edge_channels` and, for rounded spectra, `requantisation_gains` [channel][input]: the
/// factors of the voltages before rounding.
void add_channels(nlohmann::ordered_json& record, const Spectra& spectra);

}  // namespace tautline::pipeline

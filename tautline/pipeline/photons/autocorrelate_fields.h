// The fields of the run over photon counts, in parts: of its input and of its curves.
#pragma once

#include "tautline/core/fields.h"
#include "tautline/formats/count_reader.h"
#include "tautline/pipeline/photons/autocorrelate_config.h"

namespace tautline::pipeline {

core::Fields<formats::RawCounts> raw_fields();
/// Bins, detectors, and the selected part of the input.
core::Fields<AutocorrelateConfig> input_fields();
/// Lags, normalisation and segments.
core::Fields<AutocorrelateConfig> curve_fields();

}  // namespace tautline::pipeline

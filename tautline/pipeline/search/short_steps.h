// Looks for steps of level that are close to each other or to an end of the data (docs/design/empty.md).
#pragma once

#include <cstddef>
#include <vector>

#include "tautline/formats/filterbank_reader.h"
#include "tautline/pipeline/search/decide_step.h"
#include "tautline/pipeline/search/sample_range.h"

namespace tautline::pipeline {

/// Steps with 256 spectra or more on either side, in order of time, those of a dispersed pulse not among them. The levels
/// of blocks a quarter of a second apart are compared; what changes for a shorter time may lie between two of them.
/// `counts`: [channel].
std::vector<DecidedStep> short_steps(formats::FilterbankReader& reader, const SampleRange& range,
                                     const std::vector<bool>& counts);

}  // namespace tautline::pipeline

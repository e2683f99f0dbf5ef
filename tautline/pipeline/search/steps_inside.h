// Looks for steps of level between joins and gaps of filterbanks (docs/design/empty.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tautline/formats/filterbank_reader.h"
#include "tautline/pipeline/search/decide_step.h"
#include "tautline/pipeline/search/sample_range.h"

namespace tautline::pipeline {

/// Steps with 4,096 spectra or more on either side, in order of time. The levels of up to 32 blocks are compared, then
/// the place of each unusual change is found. More than 16 steps are none. `counts`, `left_out`: decide_step's.
std::vector<DecidedStep> steps_inside(formats::FilterbankReader& reader, const SampleRange& range,
                                      const std::vector<bool>& counts,
                                      const std::vector<std::size_t>& left_out);

}  // namespace tautline::pipeline

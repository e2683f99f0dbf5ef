// Looks for steps of level between joins and gaps of filterbanks (docs/design/empty.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tautline/formats/filterbank_reader.h"
#include "tautline/pipeline/search/rises.h"
#include "tautline/pipeline/search/sample_range.h"

namespace tautline::pipeline {

/// Steps with 256 spectra or more on either side; those of less than 4,096 may be missed where they last for less than a
/// quarter of a second. The levels of blocks are compared, then the place of each unusual change is found. More than 16
/// steps are not cut, nor are rises of the level that return. `counts`: [channel].
StepsInside steps_inside(formats::FilterbankReader& reader, const SampleRange& range,
                         const std::vector<bool>& counts);

}  // namespace tautline::pipeline

// Whether a change of level comes later in lower channels, as that of a pulse from the sky does.
#pragma once

#include <vector>

#include "tautline/formats/filterbank_reader.h"
#include "tautline/pipeline/search/decide_step.h"

namespace tautline::pipeline {

/// Of up to 4,096 spectra on either side, within the bounds: whether one change of the mean with a delay between the
/// channels, of 32 spectra or more between the highest and the lowest, describes them better than one without, by 40 of
/// chi squared. false where frequencies are not known.
bool step_is_dispersed(formats::FilterbankReader& reader, const StepBounds& bounds,
                       const std::vector<bool>& counts);

}  // namespace tautline::pipeline

// Which steps of level stay, and which are the ends of a rise that returns, as a pulse's are (docs/design/empty.md).
#pragma once

#include <vector>

#include "tautline/formats/filterbank_reader.h"
#include "tautline/pipeline/search/decide_step.h"
#include "tautline/pipeline/search/level_step.h"
#include "tautline/pipeline/search/sample_range.h"

namespace tautline::pipeline {

struct StepsInside {
  std::vector<DecidedStep> steps;  ///< in order of time
  std::vector<UncutLevel> uncut;   ///< the same
};

/// `steps` in order of time. A level that rises and is back within 1.5 s, or 4,096 spectra, is left uncut: it looks
/// like a pulse or interference. Levels that fall, noise that becomes less, and levels that stay are steps.
StepsInside leave_rises(formats::FilterbankReader& reader, const SampleRange& range,
                        const std::vector<DecidedStep>& steps, const std::vector<bool>& counts);

}  // namespace tautline::pipeline

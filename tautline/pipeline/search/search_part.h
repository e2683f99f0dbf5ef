// The trials that one plan dedisperses and one searches.
#pragma once

#include <cstddef>
#include <memory>

#include "tautline/stages/dedisperse/dedisperse.h"
#include "tautline/stages/detect/detect.h"

namespace tautline::pipeline {

/// Trials that are sampled alike: both stages' plans.
struct SearchPart {
  std::shared_ptr<const stages::dedisperse::Plan> dedisperse;
  std::shared_ptr<const stages::detect::Plan> detect;
  std::size_t first_trial = 0;  ///< over all passes
  std::size_t range = 0;        ///< of the DM plan
  bool given = false;           ///< all trials end with the input, whatever their lengths say
};

}  // namespace tautline::pipeline

// The Config of time-dependent channel masks (IQRM).
#pragma once

#include <cstddef>

#include "tautline/core/fields.h"
#include "tautline/pipeline/search/iqrm.h"

namespace tautline::pipeline {

struct IqrmConfig {
  double threshold = kIqrmThreshold;  ///< IqrmLimits's
  std::size_t radius = 0;             ///< IqrmLimits's
  double every_s = 1;                 ///< length of a window, which has one mask
};
const core::Fields<IqrmConfig>& fields(const IqrmConfig&);

}  // namespace tautline::pipeline

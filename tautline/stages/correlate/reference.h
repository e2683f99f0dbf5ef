// The plain loops that define the stage, as a plan.
#pragma once

#include <memory>

#include "tautline/stages/correlate/correlate.h"

namespace tautline::stages::correlate {

/// The config has been checked.
std::shared_ptr<const Plan> make_reference_plan(const Config& config);

}  // namespace tautline::stages::correlate

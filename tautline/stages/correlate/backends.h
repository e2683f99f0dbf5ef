// What all backends share: the check of configs, what saved states depend on, the start of sums.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "tautline/stages/correlate/correlate.h"

namespace tautline::stages::correlate {

/// Throws Error(config) naming the field that is out of range.
void check_config(const Config& config);

/// The `plan` of core::seal_state. `deferred`: names the layout of deferred sums.
std::string state_plan(const Config& config, std::string_view deferred = "no deferred sums");

/// The plain loops that define the stage, as a plan. The config has been checked.
std::shared_ptr<const Plan> make_reference_plan(const Config& config);

/// Clears buffers in host memory.
void clear_on_host(device::Queue& queue, const core::MutableSampleView<2>& visibilities,
                   const Counts& counts);

}  // namespace tautline::stages::correlate

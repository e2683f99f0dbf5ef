// The CPU correlator.
#pragma once

#include <memory>

#include "tautline/stages/correlate/correlate.h"
#include "tautline/stages/correlate/cpu/kernels.h"
#include "tautline/stages/correlate/tunables.h"

namespace tautline::stages::correlate::cpu {

/// Plans that use a given kernel. The config has been checked. Throw Error(config) on bad tunables.
std::shared_ptr<const Plan> make_integer_plan(const Config& config,
                                              std::shared_ptr<const device::Device> device,
                                              const IntegerKernel& kernel,
                                              const Tunables& tunables);
std::shared_ptr<const Plan> make_float_plan(const Config& config,
                                            std::shared_ptr<const device::Device> device,
                                            const FloatKernel& kernel, const Tunables& tunables);

}  // namespace tautline::stages::correlate::cpu

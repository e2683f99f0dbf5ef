// The autocorrelator on GPUs: not part of the stage's interface.
#pragma once

#include <memory>
#include <string>

#include "tautline/device/device.h"
#include "tautline/stages/autocorrelate/autocorrelate.h"
#include "tautline/stages/autocorrelate/tunables.h"

namespace tautline::stages::autocorrelate::gpu {

/// Whether the device can run GpuDesign::matrix. Plans for other devices use the portable design.
bool has_matrix_design(const device::Device& device);

/// backend() ends with `origin`, the origin of the tunables. Throws Error(config) on bad tunables.
std::shared_ptr<const Plan> make_plan(const Config& config,
                                      std::shared_ptr<const device::Device> device,
                                      const GpuTunables& tunables, const std::string& origin = {});

/// With the tuned configuration for this problem or the nearest one, else the default.
std::shared_ptr<const Plan> make_tuned_plan(const Config& config,
                                            std::shared_ptr<const device::Device> device);

}  // namespace tautline::stages::autocorrelate::gpu

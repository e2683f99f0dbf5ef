// Anything with an OpenCL 1.2 driver, through the ICD loader.
#pragma once

#include <memory>

#include "tautline/device/device.h"

namespace tautline::device::opencl {

/// Devices of all platforms, numbered by platform, then device.
unsigned device_count();

/// Whether device `number` is a CPU, which `auto` never takes.
bool is_host_cpu(unsigned number);

/// Throws Error(unsupported) when there is no such device.
std::shared_ptr<const Device> open(unsigned number, const Options& options);

}  // namespace tautline::device::opencl

// Every OpenCL device of this machine, numbered by platform, then device.
#pragma once

#include <string>
#include <vector>

#include "tautline/device/device.h"
#include "tautline/device/opencl/handles.h"

namespace tautline::device::opencl {

std::vector<cl_device_id> list_devices();

/// A text property of a device, without its closing zero.
std::string device_text(cl_device_id device, cl_device_info what);

Properties read_properties(cl_device_id device);

/// NVIDIA's driver takes PTX in its kernels.
bool takes_ptx(cl_device_id device);

}  // namespace tautline::device::opencl

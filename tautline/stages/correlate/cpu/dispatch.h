// Which of the CPU kernels run on a device.
#pragma once

#include "tautline/device/device.h"
#include "tautline/stages/correlate/cpu/kernels.h"

namespace tautline::stages::correlate::cpu {

/// The kernel for the device's instruction set. Throws Error(unsupported) when the device forces a
/// set that has none.
const IntegerKernel& choose_integer_kernel(const device::Device& device);
const FloatKernel& choose_float_kernel(const device::Device& device);
/// The row loops of the best Highway target up to the device's set.
const RowLoops& choose_row_loops(const device::Device& device);

}  // namespace tautline::stages::correlate::cpu

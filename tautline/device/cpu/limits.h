// Measures the limits of the host (arithmetic, memory): the denominators of every "fraction of the limit".
#pragma once

#include "tautline/device/device.h"

namespace tautline::device::cpu {

struct HostLimits {
  double copy_bytes_per_s = 0;        ///< large copies, bytes read plus bytes written
  double float_operations_per_s = 0;  ///< fused multiply-adds counted as two
  double int8_operations_per_s = 0;   ///< 8-bit multiply-adds into 32-bit sums, counted as two
};

/// Runs for about half a second on all of the device's threads, with the instructions of its
/// instruction set (AVX2 and AVX-512 widen bytes to 16 bits first: the widening is not counted).
HostLimits measure_limits(const Device& device);

}  // namespace tautline::device::cpu

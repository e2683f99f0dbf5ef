// Measures the limits of a device (arithmetic, memory, copies): the denominators of every "fraction of the limit".
#pragma once

#include <memory>
#include <span>
#include <string>

#include "tautline/device/device.h"

namespace tautline::pipeline {

/// Zero: the device lacks the unit, or the rate was not measured. A multiply-add counts as two
/// operations.
struct Limits {
  double copy_bytes_per_s = 0;
  double fill_bytes_per_s = 0;
  double local_read_bytes_per_s = 0;
  double to_device_bytes_per_s = 0;
  double to_host_bytes_per_s = 0;
  double both_ways_bytes_per_s = 0;
  double float_operations_per_s = 0;
  double int8_operations_per_s = 0;
  double int8_matrix_operations_per_s = 0;
  double half_matrix_operations_per_s = 0;
  /// The instructions by which the two matrix rates were measured: "wgmma" or "mma.sync"; else
  /// empty.
  std::string matrix_instruction;
};

/// One rate: its name in JSON and a description.
struct LimitField {
  const char* key;
  double Limits::*value;
  const char* description;
};

/// Every rate, in the order of tables and JSON; rates in bytes/s first.
std::span<const LimitField> limit_fields();

/// A CPU: half a second on all of the device's threads (device/cpu/limits.h). Other devices:
/// medians of several runs of the kernels of jit/kernels/limits*.kernel and of copies, timed by
/// marks of the device; about a second, and up to 4 GiB of its memory and half a GiB of pinned host
/// memory (a quarter of the free memory at most). OpenCL has no matrix instructions. Throws the
/// errors of the device.
Limits measure_limits(const std::shared_ptr<const device::Device>& device);

}  // namespace tautline::pipeline

// NVIDIA GPUs through the driver API, NVRTC and cuFFT, all opened at run time: the same binary runs
// where none of them exists. The entry points that are used are declared here by name (driver.h).
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "tautline/device/device.h"

namespace tautline::device::cuda {

/// GPUs that the driver shows; 0 without a driver.
unsigned device_count();

/// Throws Error(unsupported) without a driver, NVRTC or that GPU.
std::shared_ptr<const Device> open(unsigned number, const Options& options);

/// A queue on the caller's stream (a CUstream, or a cudaStream_t of the same primary context), which
/// must outlive it. Throws Error(config) when `device` is not one of CUDA.
std::unique_ptr<Queue> wrap_stream(const Device& device, void* stream);

/// A compiled program and what ptxas said of it.
struct Compiled {
  std::vector<std::byte> binary;
  std::string log;
};

/// Whether NVRTC can be opened here, and its version ("nvrtc 13.0"). Needs no GPU.
bool compiler_available();
std::string compiler_version();

/// Compiles for one architecture ("sm_90a"). Needs no GPU. Throws Error(device) with the compiler's
/// first error, and Error(unsupported) without NVRTC.
Compiled compile(const ProgramSource& source, const std::string& architecture);

}  // namespace tautline::device::cuda

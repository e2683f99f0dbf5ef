// The interface between the plan and the kernels of each design. Samples and results are in device
// memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "tautline/device/device.h"
#include "tautline/stages/channelize/bank.h"
#include "tautline/stages/channelize/tunables.h"

namespace tautline::stages::channelize::gpu {

/// Consecutive spectra of all inputs.
struct Slice {
  const std::byte* samples = nullptr;  ///< first sample of the first spectrum of input 0
  std::size_t row_bytes = 0;           ///< between inputs
  std::uint64_t first = 0;             ///< first spectrum, counted from the call's first one
  std::uint64_t index = 0;             ///< first spectrum, counted from the stream's first one
  std::size_t count = 0;               ///< spectra
  /// Channel 0 of input 0 of the first spectrum. Strides are in values, of inputs and spectra; in
  /// corner-turned outputs, of channels and inputs.
  std::byte* out = nullptr;
  std::ptrdiff_t slow_stride = 0, fast_stride = 0;
  const std::uint64_t* phases = nullptr;  ///< [input][4]; null: none
  const std::uint64_t* valid = nullptr;   ///< [input][word] of the call; null: all valid
  std::size_t valid_words = 0;
  const float* gains = nullptr;  ///< [input][part][channel / parts]
  std::uint64_t* clipped = nullptr;
  std::ptrdiff_t clipped_stride = 0;
};

/// The compiled kernels of one design. Immutable; threads may share them.
class Kernels {
 public:
  virtual ~Kernels() = default;
  /// The text of Plan::backend().
  virtual std::string name() const = 0;
  /// Samples are read as if Slice::count were a multiple of this, so that memory must be readable.
  virtual std::size_t granule() const = 0;
  /// The alignment of Slice::samples and row_bytes, in bytes.
  virtual std::size_t alignment() const = 0;
  /// Most spectra of one run(): launches number groups and spectra in 32 bits.
  virtual std::size_t most_spectra() const { return std::size_t{1} << 18; }
  virtual std::size_t gain_parts() const { return 1; }
  virtual std::size_t table_bytes() const = 0;
  /// Size of the device memory that run() gets from the State.
  virtual std::size_t work_bytes() const { return 0; }
  virtual void run(device::Queue& queue, const Slice& slice, void* work) const = 0;
};

using BankPointer = std::shared_ptr<const Bank>;
using DevicePointer = std::shared_ptr<const device::Device>;

/// The tunables are complete, and of the function's design.
std::unique_ptr<Kernels> make_fused_kernels(BankPointer bank, const DevicePointer& device,
                                            const GpuTunables& tunables);
std::unique_ptr<Kernels> make_split_kernels(BankPointer bank, const DevicePointer& device,
                                            const GpuTunables& tunables);
std::unique_ptr<Kernels> make_separate_kernels(BankPointer bank, const DevicePointer& device,
                                               const GpuTunables& tunables);

}  // namespace tautline::stages::channelize::gpu

// The kernels of one design, launched over spectra whose samples and results are in device memory.
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
  std::uint64_t first = 0;             ///< spectrum, counted from the call's first one
  std::uint64_t index = 0;             ///< the same, counted from the stream's first one
  std::size_t count = 0;               ///< spectra
  /// Channel 0 of input 0 of the first spectrum; strides in values. Spectra: of inputs and spectra;
  /// turned: of channels and inputs.
  std::byte* out = nullptr;
  std::ptrdiff_t slow_stride = 0, fast_stride = 0;
  const std::uint64_t* phases = nullptr;  ///< [input][4]; null: none
  const std::uint64_t* valid = nullptr;   ///< [input][word] of the call; null: all valid
  std::size_t valid_words = 0;
  const float* gains = nullptr;  ///< [input][part][channel / parts]
  std::uint64_t* clipped = nullptr;
  std::ptrdiff_t clipped_stride = 0;
};

class Passes {
 public:
  virtual ~Passes() = default;
  /// What Plan::backend() says.
  virtual std::string name() const = 0;
  /// Samples are read as if count were a multiple of this: they must be there (or any memory).
  virtual std::size_t granule() const = 0;
  /// Bytes that Slice::samples and row_bytes are multiples of.
  virtual std::size_t alignment() const = 0;
  /// Spectra that run() takes at most: launches count groups and spectra in 32 bits.
  virtual std::size_t most_spectra() const { return std::size_t{1} << 18; }
  virtual std::size_t gain_parts() const { return 1; }
  virtual std::size_t table_bytes() const = 0;
  /// Device memory that run() is given: a State's, since plans are shared.
  virtual std::size_t work_bytes() const { return 0; }
  virtual void run(device::Queue& queue, const Slice& slice, void* work) const = 0;
};

using BankPointer = std::shared_ptr<const Bank>;
using DevicePointer = std::shared_ptr<const device::Device>;

/// The tunables are complete, and of that design.
std::unique_ptr<Passes> make_fused_passes(BankPointer bank, const DevicePointer& device,
                                          const GpuTunables& tunables);
std::unique_ptr<Passes> make_split_passes(BankPointer bank, const DevicePointer& device,
                                          const GpuTunables& tunables);
std::unique_ptr<Passes> make_separate_passes(BankPointer bank, const DevicePointer& device,
                                             const GpuTunables& tunables);

}  // namespace tautline::stages::channelize::gpu

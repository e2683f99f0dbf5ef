// Inside of the GPU correlator: what the plan (gpu/plan.cpp) asks of the code that multiplies.
//
// The plan brings samples into the form that a kernel wants (on the device, invalid samples zeroed,
// ci4 widened to ci8, ci16 converted to complex<float>, aligned) and counts valid samples; a kernel
// adds products. Everything here is enqueued; nothing waits, allocates or compiles after it is
// made.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "tautline/device/device.h"
#include "tautline/stages/correlate/correlate.h"
#include "tautline/stages/correlate/tunables.h"

namespace tautline::stages::correlate::gpu {

/// Samples in device memory, [channel][input][time], time dense: ci8 for an exact config,
/// cf16 or complex<float> (GpuKernel::sample_bytes()) for a float one. Strides may hold holes:
/// bytes beyond `samples` in a row are undefined and may lie outside the buffer at its end.
struct GpuSamples {
  const void* data = nullptr;
  std::size_t channel_stride_bytes = 0;
  std::size_t input_stride_bytes = 0;
  std::size_t channels = 0;  ///< of this call: the config's or fewer
  std::size_t samples = 0;   ///< 1 to max_samples
};

/// Code for one config on one device, compiled. Immutable; shared by threads.
class GpuKernel {
 public:
  virtual ~GpuKernel() = default;
  /// Kernel and configuration, for Plan::backend(): "tiled 8x4 registers, 16x16 threads".
  virtual std::string name() const = 0;
  /// Of data and of both strides; a power of two. Others are copied to an aligned place first.
  virtual std::size_t alignment_bytes() const = 0;
  /// Of the samples that it reads: 2 for ci8, 4 for cf16, 8 for complex<float>.
  virtual std::size_t sample_bytes() const = 0;
  /// Device memory that `add` is given as `work`, for up to the config's channels.
  virtual std::size_t work_bytes() const = 0;
  /// visibilities[c][b(i, j)] += sum over time of x_i conj(x_j). ci64 (exact configs) or
  /// complex<double>, [channel][baseline] in device memory, dense, aligned to 16 bytes.
  virtual void add(device::Queue& queue, const GpuSamples& samples, void* visibilities,
                   void* work) const = 0;
  /// The same sums into `visibility_bytes` of visibilities whose contents do not matter.
  virtual void store(device::Queue& queue, const GpuSamples& samples, void* visibilities,
                     std::size_t visibility_bytes, void* work) const {
    queue.fill(visibilities, 0, visibility_bytes);
    add(queue, samples, visibilities, work);
  }

  /// Device memory for sums of all of the config's channels in a form of the kernel's own that is
  /// faster to add to; 0: it has none, and the following are not called.
  virtual std::size_t deferred_bytes() const { return 0; }
  /// Samples that such sums can take before they must be released.
  virtual std::size_t deferred_samples() const { return 0; }
  /// Adds to the sums in `deferred`, or makes them when this is the `first` since they were released.
  virtual void defer(device::Queue& /*queue*/, const GpuSamples& /*samples*/, void* /*deferred*/,
                     bool /*first*/) const {}
  /// visibilities += deferred, or = deferred.
  virtual void flush(device::Queue& /*queue*/, void* /*deferred*/, void* /*visibilities*/,
                     bool /*replace*/) const {}
};

using GpuKernelPointer = std::shared_ptr<const GpuKernel>;

/// Each throws Error(config) on tunables out of range. The first runs on any device that compiles;
/// the others return null where the device or the config's format has no such code.
GpuKernelPointer make_tiled_kernel(const Config& config,
                                   std::shared_ptr<const device::Device> device,
                                   const GpuTunables& tunables);
/// mma.sync: CUDA compute capability 8.0 and later, exact configs and cf16.
GpuKernelPointer make_mma_kernel(const Config& config, std::shared_ptr<const device::Device> device,
                                 const GpuTunables& tunables);
/// wgmma and the tensor copy engine: CUDA compute capability 9.0, exact configs and cf16.
GpuKernelPointer make_wgmma_kernel(const Config& config,
                                   std::shared_ptr<const device::Device> device,
                                   const GpuTunables& tunables);

}  // namespace tautline::stages::correlate::gpu

// The interface between the GPU plan and the kernels that multiply.
//
// The plan prepares samples for a kernel (on the device, invalid samples zeroed, ci4 widened to
// ci8, ci16 converted to complex<float>, aligned) and counts valid samples; a kernel adds products.
// All functions only enqueue work; none waits, allocates or compiles.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>

#include "tautline/device/device.h"
#include "tautline/stages/correlate/correlate.h"
#include "tautline/stages/correlate/tunables.h"

namespace tautline::stages::correlate::gpu {

/// Samples in device memory, [channel][input][time], time dense: ci8 for an exact config, cf16 or
/// complex<float> (GpuKernel::sample_bytes()) for a float config. Bytes of a row beyond `samples`
/// are undefined; those of the last row may lie outside the buffer.
struct GpuSamples {
  const void* data = nullptr;
  std::size_t channel_stride_bytes = 0;
  std::size_t input_stride_bytes = 0;
  std::size_t channels = 0;  ///< at most the config's
  std::size_t samples = 0;   ///< 1 to max_samples
};

/// A kernel compiled for one config and device. Immutable; threads may share it.
class GpuKernel {
 public:
  virtual ~GpuKernel() = default;
  /// Kernel and configuration, for Plan::backend(): "tiled 8x4 registers, 16x16 threads".
  virtual std::string name() const = 0;
  /// The alignment that data and both strides must have; a power of two.
  virtual std::size_t alignment_bytes() const = 0;
  /// Bytes of a sample that it reads: 2 for ci8, 4 for cf16, 8 for complex<float>.
  virtual std::size_t sample_bytes() const = 0;
  /// visibilities[c][b(i, j)] += sum over time of x_i conj(x_j). ci64 (exact configs) or
  /// complex<double>, [channel][baseline] in device memory, dense, aligned to 16 bytes.
  virtual void add(device::Queue& queue, const GpuSamples& samples, void* visibilities) const = 0;
  /// Overwrites `visibility_bytes` of visibilities with the sums.
  virtual void store(device::Queue& queue, const GpuSamples& samples, void* visibilities,
                     std::size_t visibility_bytes) const {
    queue.fill(visibilities, 0, visibility_bytes);
    add(queue, samples, visibilities);
  }

  /// Size of the device memory for deferred sums of all channels, in a layout of the kernel's own
  /// that is faster to add to; 0: the kernel has none, and the plan does not call the functions
  /// below.
  virtual std::size_t deferred_bytes() const { return 0; }
  /// Samples that deferred sums can take before they must be flushed.
  virtual std::size_t deferred_samples() const { return 0; }
  /// Adds to the sums in `deferred`, or overwrites them in the `first` call since the last flush.
  virtual void defer(device::Queue& /*queue*/, const GpuSamples& /*samples*/, void* /*deferred*/,
                     bool /*first*/) const {}
  /// visibilities += deferred, or = deferred.
  virtual void flush(device::Queue& /*queue*/, void* /*deferred*/, void* /*visibilities*/,
                     bool /*replace*/) const {}

 protected:
  /// Calls launch(part, its visibilities, whether the part has the first samples) for parts of at
  /// most so many samples and channels. `baselines`: of one channel.
  template <class Launch>
  void for_parts(const GpuSamples& samples, std::size_t most_samples, std::size_t most_channels,
                 std::size_t baselines, void* visibilities, const Launch& launch) const {
    for (std::size_t first = 0; first < samples.samples; first += most_samples)
      for (std::size_t channel = 0; channel < samples.channels; channel += most_channels) {
        GpuSamples part = samples;
        part.data = static_cast<const std::byte*>(samples.data) + first * sample_bytes() +
                    channel * samples.channel_stride_bytes;
        part.samples = std::min(most_samples, samples.samples - first);
        part.channels = std::min(most_channels, samples.channels - channel);
        launch(part, static_cast<core::ci64*>(visibilities) + channel * baselines, first == 0);
      }
  }
};

using GpuKernelPointer = std::shared_ptr<const GpuKernel>;

/// Each throws Error(config) on tunables out of range. The tiled kernel supports every device that
/// compiles kernels; the others return null if they do not support the device or the format.
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

// Copies samples and masks from host memory, and converts samples for the kernels that multiply.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "tautline/stages/correlate/gpu/kernels.h"

namespace tautline::stages::correlate::gpu {

/// Masks in device memory: [channel][input][word], strides in words. Null data: all valid.
struct DeviceMask {
  const std::uint64_t* data = nullptr;
  std::ptrdiff_t channel_stride = 0;
  std::ptrdiff_t input_stride = 0;
};

/// Whether a mask in host memory has a zero among the bits of `samples`.
bool has_holes(const Validity& validity, std::size_t samples);

/// Copies and converts the samples of a slab of channels. Immutable; the memory is the state's.
class SamplePreparer {
 public:
  SamplePreparer(const Config& config, const device::Device& device, const GpuKernel& kernel);

  /// Device memory of one channel in the larger of the buffers.
  std::size_t channel_bytes() const { return prepared_row_bytes_ * config_.inputs; }

  struct Memory {
    device::Buffer staged;    ///< samples as on the host, time dense; device
    device::Buffer prepared;  ///< samples as the kernel reads them; device
    device::Buffer mask;      ///< device
    device::Buffer row;       ///< one row, gathered from samples with a stride in time; host
  };
  device::MemoryUse bytes(std::size_t slab_channels) const;
  Memory make_memory(const device::Device& device, std::size_t slab_channels) const;

  /// Whether the kernel can read the samples in place.
  bool usable_in_place(const device::Device& device, const core::SampleView<3>& samples) const;
  GpuSamples in_place(const core::SampleView<3>& samples) const;
  /// Enqueues the copy and conversion of `samples`; samples whose bit in `mask` is 0 become zero.
  GpuSamples prepare(device::Queue& queue, const device::Device& device, Memory& memory,
                     const core::SampleView<3>& samples, const DeviceMask& mask) const;
  /// The mask in device memory; enqueues its copy if it is in host memory.
  DeviceMask mask_on_device(device::Queue& queue, const device::Device& device, Memory& memory,
                            const Validity& validity) const;

 private:
  core::SampleView<3> stage(device::Queue& queue, Memory& memory,
                            const core::SampleView<3>& samples) const;
  void stage_rows(device::Queue& queue, Memory& memory, std::byte* to,
                  const core::SampleView<3>& samples) const;

  Config config_;
  std::size_t alignment_bytes_;
  std::size_t sample_bytes_;           ///< of the config's format
  std::size_t prepared_sample_bytes_;  ///< of the kernel's format
  std::size_t staged_row_bytes_;       ///< aligned, max_samples long
  std::size_t prepared_row_bytes_;
  std::shared_ptr<const device::Kernel> convert_, convert_masked_;
};

}  // namespace tautline::stages::correlate::gpu

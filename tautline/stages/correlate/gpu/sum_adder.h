// Adds counts, and sums in the state's memory, to the caller's buffers on the device or the host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "tautline/stages/correlate/gpu/prepare.h"

namespace tautline::stages::correlate::gpu {

/// Of a ci64 or a complex<double>.
inline constexpr std::size_t kVisibilityBytes = sizeof(core::ci64);

/// Immutable; the memory is the state's.
class SumAdder {
 public:
  SumAdder(const Config& config, const device::Device& device);

  /// Memory of one channel in the larger of the buffers.
  std::size_t channel_bytes() const { return baselines_ * kVisibilityBytes; }

  struct Memory {
    device::Buffer sums;         ///< [channel][baseline] of 16 bytes; device
    device::Buffer counts;       ///< [channel][baseline]; device
    device::Buffer host_sums;    ///< pinned
    device::Buffer host_counts;  ///< pinned
  };
  device::MemoryUse bytes(std::size_t slab_channels) const;
  Memory make_memory(const device::Device& device, std::size_t slab_channels) const;

  /// counts[c][b] += samples that are valid in both inputs; all are valid if `mask` has null data.
  /// `replace`: overwrites the counts instead.
  void add_counts(device::Queue& queue, const device::Device& device, Memory& memory,
                  const DeviceMask& mask, std::size_t samples, const Counts& counts,
                  bool replace = false) const;

  /// Clears buffers on the device or the host.
  void clear(device::Queue& queue, const device::Device& device, const Counts& counts) const;
  void clear(device::Queue& queue, const device::Device& device,
             const core::MutableSampleView<2>& visibilities) const;

  /// visibilities[c][b] += memory.sums.
  void add_sums(device::Queue& queue, const device::Device& device, Memory& memory,
                const core::MutableSampleView<2>& visibilities) const;

 private:
  void count_pairs(device::Queue& queue, const DeviceMask& mask, std::size_t samples,
                   std::size_t channels, std::int64_t* counts, std::ptrdiff_t channel_stride,
                   std::ptrdiff_t baseline_stride) const;

  Config config_;
  std::size_t baselines_;
  void on_all(device::Queue& queue, const device::Kernel& kernel, std::int64_t value,
              const Counts& counts) const;

  std::shared_ptr<const device::Kernel> count_pairs_, add_value_, set_value_, add_array_;
};

}  // namespace tautline::stages::correlate::gpu

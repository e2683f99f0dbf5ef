// The samples of every input that later spectra need, in device memory.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "tautline/device/device.h"
#include "tautline/stages/channelize/gpu/kernels.h"
#include "tautline/stages/channelize/history_mask.h"

namespace tautline::stages::channelize::gpu {

class GpuHistory {
 public:
  GpuHistory(const Bank& bank, const device::Device& device);

  const HistoryMask& mask() const { return mask_; }
  std::size_t held() const { return mask_.held(); }
  std::size_t row_bytes() const { return row_bytes_; }
  const std::byte* samples() const { return buffers_[current_].as<std::byte>(); }

  void reset() { mask_.reset(); }
  /// Takes in the samples of a call that wrote `spectra` spectra. `validity` is in host memory,
  /// even if input.validity is not.
  void advance(device::Queue& queue, const Input& input, const core::ValidityView& validity,
               std::size_t spectra);

  /// Both wait for their copies; work enqueued before on other queues must be done.
  std::vector<std::byte> save(device::Queue& queue) const;
  void load(device::Queue& queue, std::span<const std::byte> saved);

  static std::size_t device_bytes(const Bank& bank);

 private:
  std::size_t inputs_, sample_bytes_, row_bytes_;
  HistoryMask mask_;
  // Kept samples are copied to the front of the other buffer, since copies may not overlap.
  std::array<device::Buffer, 2> buffers_;
  std::size_t current_ = 0;
};

}  // namespace tautline::stages::channelize::gpu

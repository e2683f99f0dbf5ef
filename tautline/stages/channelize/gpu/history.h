// The samples that later spectra still need, in device memory.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "tautline/device/device.h"
#include "tautline/stages/channelize/gpu/kernels.h"
#include "tautline/stages/channelize/held_mask.h"

namespace tautline::stages::channelize::gpu {

class GpuHistory {
 public:
  GpuHistory(const Bank& bank, const device::Device& device);

  const HeldMask& mask() const { return mask_; }
  std::size_t held() const { return mask_.held(); }
  std::size_t row_bytes() const { return row_bytes_; }
  const std::byte* samples() const { return buffers_[current_].as<std::byte>(); }

  void reset() { mask_.reset(); }
  /// Takes in a call's samples, of which `spectra` spectra have been given. `validity` is in host
  /// memory, whatever input.validity is.
  void advance(device::Queue& queue, const Input& input, const core::ValidityView& validity,
               std::size_t spectra);

  /// Everything enqueued before must be done. These wait for the copies.
  std::vector<std::byte> save(device::Queue& queue) const;
  void load(device::Queue& queue, const std::vector<std::byte>& saved);

  static std::size_t device_bytes(const Bank& bank);

 private:
  std::size_t inputs_, sample_bytes_, row_bytes_;
  HeldMask mask_;
  // What is kept moves to the front: from one buffer to the other, since copies may not overlap.
  std::array<device::Buffer, 2> buffers_;
  std::size_t current_ = 0;
};

}  // namespace tautline::stages::channelize::gpu

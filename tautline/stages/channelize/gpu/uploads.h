// What a call hands to the kernels beside samples: phases, validity by spectrum, gains.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "tautline/device/device.h"
#include "tautline/stages/channelize/gpu/kernels.h"
#include "tautline/stages/channelize/held_mask.h"

namespace tautline::stages::channelize::gpu {

/// Host memory that the device copies by itself, twice, so that a call can write one while the
/// other is still being read; and where it goes in device memory.
class Upload {
 public:
  Upload() = default;
  Upload(const device::Device& device, std::size_t bytes);
  /// Where the host writes next: waits until the copy before the last one is done.
  template <class T>
  T* write() {
    sent_[turn_]->synchronise();
    return staging_[turn_].as<T>();
  }
  /// Enqueues the copy of what was written.
  const void* send(device::Queue& queue, std::size_t bytes);

 private:
  std::array<device::Buffer, 2> staging_;
  std::array<std::unique_ptr<device::Event>, 2> sent_;
  device::Buffer target_;
  std::size_t turn_ = 0;
};

class Uploads {
 public:
  Uploads(const Bank& bank, const device::Device& device, std::size_t gain_parts);

  /// [input][4] of rotor.kernel; null when there are none.
  const std::uint64_t* phases(device::Queue& queue, const std::vector<PhaseModel>& models);

  /// Bits by spectrum of every input, words() apart; null when all are valid, which costs nothing
  /// where neither the call nor the history has a mask. They can be read from bits() until the next
  /// call.
  const std::uint64_t* valid(device::Queue& queue, const HeldMask& held,
                             const core::ValidityView& validity, std::size_t count,
                             std::size_t spectra);
  std::size_t words() const { return words_; }
  const std::uint64_t* bits() const { return bits_.data(); }

  /// [input][part][channel / parts].
  const float* gains(device::Queue& queue, const core::View<const float, 2>& view,
                     const device::Kernel& order_gains);

  static std::size_t device_bytes(const Bank& bank);
  static std::size_t host_bytes(const Bank& bank);

 private:
  const Bank& bank_;
  const device::Device& device_;
  std::size_t parts_, words_;
  Upload phases_, valid_;
  std::vector<std::uint64_t> bits_;
  device::Buffer gains_;
  std::vector<float> last_gains_, next_gains_;  // what gains_ holds, when it came from the host
};

}  // namespace tautline::stages::channelize::gpu

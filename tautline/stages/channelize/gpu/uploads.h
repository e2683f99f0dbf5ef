// Arguments of the kernels that are computed or copied for each call: phases, validity of spectra,
// gains.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "tautline/device/device.h"
#include "tautline/stages/channelize/gpu/kernels.h"
#include "tautline/stages/channelize/history_mask.h"

namespace tautline::stages::channelize::gpu {

/// Two pinned buffers, so that a call can write one while the device still copies the other, and
/// the device memory that they are copied to.
class Upload {
 public:
  Upload() = default;
  Upload(const device::Device& device, std::size_t bytes);
  /// The buffer to write next; waits until its last copy is done.
  template <class T>
  T* write() {
    sent_[next_]->synchronise();
    return staging_[next_].as<T>();
  }
  /// Enqueues the copy of the buffer that write() returned.
  const void* send(device::Queue& queue, std::size_t bytes);

 private:
  std::array<device::Buffer, 2> staging_;
  std::array<std::unique_ptr<device::Event>, 2> sent_;
  device::Buffer target_;
  std::size_t next_ = 0;
};

class Uploads {
 public:
  Uploads(const Bank& bank, const device::Device& device, std::size_t gain_parts);

  /// [input][4] for phasor.kernel; null if there are no models.
  const std::uint64_t* phases(device::Queue& queue, const std::vector<PhaseModel>& models);

  /// Bits of the spectra of every input, words() apart; null if all spectra are valid, which takes
  /// no time if neither the call nor the history has a mask. bits() has them until the next call.
  const std::uint64_t* valid(device::Queue& queue, const HistoryMask& held,
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
  std::vector<float> last_gains_, next_gains_;  // last_gains_: gains_, if copied from the host
};

}  // namespace tautline::stages::channelize::gpu

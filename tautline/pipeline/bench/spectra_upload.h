// Uploads blocks of spectra to a device while the device works on the blocks before.
#pragma once

#include <array>
#include <cstddef>
#include <memory>

#include "tautline/device/device.h"

namespace tautline::pipeline {

class SpectraUpload {
 public:
  SpectraUpload(std::shared_ptr<const device::Device> device, std::size_t block_bytes);

  /// The address of `bytes` of `spectra` for later work of `queue`, until the next call but one.
  /// Work that reads the spectra must have been enqueued before the next call.
  const void* send(device::Queue& queue, const std::byte* spectra, std::size_t bytes);
  /// Waits until the last block has been read from the host's memory.
  void wait() const;

 private:
  struct Slot {
    device::Buffer memory;
    std::unique_ptr<device::Event> arrived, used;
    bool reused = false;
  };
  std::unique_ptr<device::Queue> copies_;
  std::array<Slot, 2> slots_;
  std::size_t sent_ = 0;
};

}  // namespace tautline::pipeline

// Blocks of spectra on their way to a device's memory, while it works on the ones before.
#pragma once

#include <array>
#include <cstddef>
#include <memory>

#include "tautline/device/device.h"

namespace tautline::pipeline {

class SpectraUpload {
 public:
  SpectraUpload(std::shared_ptr<const device::Device> device, std::size_t block_bytes);

  /// Where `bytes` of `spectra` will be for what `queue` is given from now on, until the next call
  /// but one. Work that reads them must have been enqueued when the next call comes.
  const void* send(device::Queue& queue, const std::byte* spectra, std::size_t bytes);
  /// Waits until what was sent last has been read from the host's memory.
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

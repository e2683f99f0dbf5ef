#include "tautline/pipeline/bench/spectra_upload.h"

namespace tautline::pipeline {

SpectraUpload::SpectraUpload(std::shared_ptr<const device::Device> device, std::size_t block_bytes)
    : copies_(device->make_queue()) {
  for (Slot& slot : slots_) {
    slot.memory = device->allocate(block_bytes);
    slot.arrived = device->make_event();
    slot.used = device->make_event();
  }
}

const void* SpectraUpload::send(device::Queue& queue, const std::byte* spectra, std::size_t bytes) {
  if (sent_ > 0) {
    Slot& last = slots_[(sent_ - 1) % slots_.size()];
    queue.record(*last.used);
    last.reused = true;
  }
  Slot& slot = slots_[sent_ % slots_.size()];
  if (slot.reused) copies_->wait(*slot.used);
  copies_->copy(slot.memory.data(), spectra, bytes);
  copies_->record(*slot.arrived);
  queue.wait(*slot.arrived);
  ++sent_;
  return slot.memory.data();
}

void SpectraUpload::wait() const {
  if (sent_ > 0) slots_[(sent_ - 1) % slots_.size()].arrived->synchronise();
}

}  // namespace tautline::pipeline

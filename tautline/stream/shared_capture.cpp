#include "tautline/stream/shared_capture.h"

namespace tautline::stream {

// Ends by an exception of the store, too.
class SharedCapture::Turn {
 public:
  Turn(Placer*& booking, Placer* placer) : booking_(booking) { booking_ = placer; }
  ~Turn() { booking_ = nullptr; }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  Placer*& booking_;
};

void SharedCapture::Placer::place(std::span<const std::span<const std::byte>> packets,
                                  std::uint64_t source) {
  read_.clear();
  for (const auto& packet : packets) read_.push_back(shared_.capture_.read(packet, source));
  copies_.clear();
  {
    const std::lock_guard lock(shared_.mutex_);
    if (shared_.ended_) return;
    const Turn turn(shared_.booking_, this);
    try {
      for (const ReadPacket& packet : read_) shared_.capture_.book(packet);
    } catch (...) {
      shared_.ended_ = true;
      throw;
    }
    shared_.publish();
    shared_.copying_.fetch_add(1, std::memory_order_relaxed);
  }
  copy_all();
  if (shared_.copying_.fetch_sub(1, std::memory_order_acq_rel) == 1) shared_.copying_.notify_all();
}

void SharedCapture::Placer::copy_all() {
  for (const Copy& copy : copies_)
    placement_.place(copy.flow, copy.sample, copy.payload, copy.block);
  copies_.clear();
}

void SharedCapture::publish() {
  const std::lock_guard lock(published_);
  counters_ = capture_.counters();
  locked_ = capture_.locked();
}

CaptureCounters SharedCapture::counters() const {
  const std::lock_guard lock(published_);
  return counters_;
}

bool SharedCapture::try_flush() {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return false;
  capture_.flush();
  publish();
  return true;
}

void SharedCapture::copy(std::size_t flow, std::size_t sample, const std::byte* payload,
                         std::byte* block) {
  booking_->copies_.push_back({flow, sample, payload, block});
}

// Other threads do not begin to copy meanwhile: for that they need the lock.
void SharedCapture::wait() {
  if (booking_ != nullptr) booking_->copy_all();
  for (int others = copying_.load(std::memory_order_acquire); others != 0;
       others = copying_.load(std::memory_order_acquire))
    copying_.wait(others, std::memory_order_acquire);
}

}  // namespace tautline::stream

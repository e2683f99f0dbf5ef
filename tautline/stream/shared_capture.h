// One capture, and several threads that place packets by it.
//
//   read the headers of some dozens of packets   each thread for itself
//   book them: places, counters                  one thread at a time, a lock for all of the packets
//   copy their payloads                          each thread for itself
//
// So blocks, masks and counters equal those of one thread that placed the same packets in the order of booking. A block
// is committed when all booked packets have been copied: the thread that closes it waits for the other threads' copies,
// and they wait for it before they book again.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "tautline/stream/capture.h"

namespace tautline::stream {

class SharedCapture final : private PayloadCopier {
 public:
  /// The booking thread calls the capture's store, while the others wait. Until this object is destroyed, only it may
  /// use the capture.
  explicit SharedCapture(Capture& capture)
      : capture_(capture), counters_(capture.counters()), locked_(capture.locked()) {
    capture_.set_copier(this);
  }
  ~SharedCapture() override { capture_.set_copier(nullptr); }
  SharedCapture(const SharedCapture&) = delete;
  SharedCapture& operator=(const SharedCapture&) = delete;

  /// One thread's part.
  class Placer {
   public:
    explicit Placer(SharedCapture& shared)
        : shared_(shared), placement_(shared.capture_.placement()) {}

    /// Capture::place for each packet. Their bytes are not needed afterwards.
    void place(std::span<const std::span<const std::byte>> packets, std::uint64_t source);

   private:
    friend class SharedCapture;
    struct Copy {
      std::size_t flow, sample;
      const std::byte* payload;
      std::byte* block;
    };
    void copy_all();

    SharedCapture& shared_;
    formats::packets::Placement placement_;
    std::vector<ReadPacket> read_;
    std::vector<Copy> copies_;
  };

  /// Capture::flush. False: another thread was booking, and nothing was done.
  bool try_flush();
  /// The counters after the last booking of a thread.
  CaptureCounters counters() const;
  bool locked() const { return locked_; }

 private:
  class Turn;
  void publish();
  void copy(std::size_t flow, std::size_t sample, const std::byte* payload,
            std::byte* block) override;
  void wait() override;

  Capture& capture_;
  std::mutex mutex_;
  Placer* booking_ = nullptr;  // has the lock, and books packets
  // By an exception of the store, which leaves the capture in an undefined state.
  bool ended_ = false;
  std::atomic<int> copying_ = 0;  // threads that copy; only the lock's owner adds to it
  // Guards `counters_`; the booking thread has the other mutex, perhaps for long.
  mutable std::mutex published_;
  CaptureCounters counters_;
  std::atomic<bool> locked_;
};

}  // namespace tautline::stream

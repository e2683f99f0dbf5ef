// One capture, and several threads that place packets by it.
//
//   read the headers of some dozens of packets   each thread for itself
//   book them: places, counters                  one thread at a time, a lock for all of the packets
//   copy their payloads                          each thread for itself
//
// So blocks, masks and counters are those of one thread that placed the same packets in the order in which they were booked.
// A block is given on when all that was booked has been copied: the thread that closes it waits for the others' copies, and
// they wait for it before they book again.
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
  /// The capture's store is called by the thread that books, while others wait. Until this object goes, the capture is used
  /// by it alone.
  explicit SharedCapture(Capture& capture)
      : capture_(capture), counters_(capture.counters()), locked_(capture.locked()) {
    capture_.set_copier(this);
  }
  ~SharedCapture() override { capture_.set_copier(nullptr); }
  SharedCapture(const SharedCapture&) = delete;
  SharedCapture& operator=(const SharedCapture&) = delete;

  /// A thread's part.
  class Placer {
   public:
    explicit Placer(SharedCapture& shared)
        : shared_(shared), placement_(shared.capture_.placement()) {}

    /// Capture::place for each. Their bytes are not needed behind it.
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

  /// Capture::flush. False: a thread was booking, and nothing was done.
  bool try_flush();
  /// As they were when a thread last had booked.
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
  Placer* booking_ = nullptr;  // who has the lock, and places packets
  bool ended_ = false;  // by an exception of the store, which leaves the capture between two states
  std::atomic<int> copying_ = 0;  // threads; only who has the lock adds to them
  mutable std::mutex published_;  // of `counters_`; who books holds the other one, perhaps for long
  CaptureCounters counters_;
  std::atomic<bool> locked_;
};

}  // namespace tautline::stream

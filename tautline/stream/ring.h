// A fixed number of preallocated blocks handed from one producer to one consumer.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

namespace tautline::stream {

/// What a full ring does to the producer.
enum class RingPolicy {
  block,        ///< the producer waits
  drop_oldest,  ///< the oldest block not yet being read is given up
  drop_newest   ///< the block just written is given up
};

/// Blocks are made once and reused. Every block that is given up is counted.
template <class Block>
class Ring {
 public:
  /// Throws nothing; `blocks` is at least 2.
  Ring(std::size_t blocks, RingPolicy policy) : slots_(blocks < 2 ? 2 : blocks), policy_(policy) {}

  /// Calls prepare(block) on every block, once, before the stream starts.
  template <class Prepare>
  void prepare(Prepare prepare) {
    for (Block& block : slots_) prepare(block);
  }

  /// A block to write, or null when the ring was closed. With `block` this waits for room.
  Block* begin_write() {
    std::unique_lock lock(mutex_);
    if (policy_ == RingPolicy::block)
      room_.wait(lock, [&] { return closed_ || committed_ - released_ < slots_.size(); });
    if (closed_) return nullptr;
    if (committed_ - released_ == slots_.size()) {
      if (policy_ == RingPolicy::drop_newest) {
        overwrite_ = true;  // written into the spare block below and then forgotten
        return &spare_;
      }
      drop_one_oldest();
    }
    overwrite_ = false;
    return &slot(committed_);
  }

  void end_write() {
    {
      const std::lock_guard lock(mutex_);
      if (overwrite_) {
        ++dropped_;
      } else {
        ++committed_;
      }
    }
    data_.notify_one();
  }

  /// The oldest block, or null when the ring is closed and empty.
  Block* begin_read() {
    std::unique_lock lock(mutex_);
    data_.wait(lock, [&] { return closed_ || committed_ > released_; });
    if (committed_ == released_) return nullptr;
    reading_ = true;
    return &slot(released_);
  }

  void end_read() {
    {
      const std::lock_guard lock(mutex_);
      reading_ = false;
      ++released_;
    }
    room_.notify_one();
  }

  /// No more writes; reads drain what is there.
  void close() {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
    }
    room_.notify_all();
    data_.notify_all();
  }

  /// Blocks given up so far.
  std::uint64_t dropped() const {
    const std::lock_guard lock(mutex_);
    return dropped_;
  }

 private:
  Block& slot(std::uint64_t index) { return slots_[index % slots_.size()]; }

  // The oldest block may be in the consumer's hands; then the one after it goes, by moving the
  // blocks behind it forward. Blocks are swapped, not copied.
  void drop_one_oldest() {
    const std::uint64_t first = released_ + (reading_ ? 1 : 0);
    for (std::uint64_t k = first; k + 1 < committed_; ++k) std::swap(slot(k), slot(k + 1));
    --committed_;
    ++dropped_;
  }

  mutable std::mutex mutex_;
  std::condition_variable room_, data_;
  std::vector<Block> slots_;
  Block spare_{};
  RingPolicy policy_;
  std::uint64_t committed_ = 0, released_ = 0, dropped_ = 0;
  bool closed_ = false, reading_ = false, overwrite_ = false;
};

}  // namespace tautline::stream

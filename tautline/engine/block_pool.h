// The blocks of one output of a node: allocated once, handed out, and free again when their last reader has released
// them.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "tautline/engine/block.h"

namespace tautline::engine {

/// Thrown inside lanes when the run is stopping; never leaves the engine.
struct Stopped {};

/// A block with the engine's bookkeeping.
struct PooledBlock : Block {
  std::size_t users = 0;                   ///< guarded by the pool's mutex
  std::vector<std::size_t> uses;           ///< those of each ring; guarded by the pool's mutex
  std::unique_ptr<device::Event> written;  ///< where a device writes: signals the end of its work
  /// For a block in a device's memory: one event for each edge, after the reader's work. Readers of host memory release
  /// a block after their work.
  std::vector<std::unique_ptr<device::Event>> read;
};

class BlockPool {
 public:
  /// In the place of a ring: the producer, and nodes of its lane.
  static constexpr std::size_t kNoRing = static_cast<std::size_t>(-1);

  /// `pinned`: a device that copies to or from host blocks, or null.
  BlockPool(const Stream& stream, std::size_t blocks, std::size_t readers,
            std::shared_ptr<const device::Device> pinned)
      : stream_(stream), count_(blocks), readers_(readers), pinned_(std::move(pinned)) {}

  void allocate();

  /// A free block, with the largest extents. Where there is none: waits for one, or returns null. Throws Stopped after
  /// stop().
  PooledBlock* take(bool wait);
  /// Adds a user at each ring's end.
  void add_readers(PooledBlock& block);
  /// Adds a user, by a ring or kNoRing.
  void add_user(PooledBlock& block, std::size_t ring);
  /// Takes a user off.
  void release(PooledBlock& block, std::size_t ring = kNoRing);
  std::size_t blocks() const { return count_; }
  /// Blocks that wait in a ring, are being read from it, or are kept by its reader.
  std::size_t used_by(std::size_t ring) const;
  /// Wakes the threads that wait in take().
  void stop();
  /// After a run: releases memory that was lent to blocks and not consumed.
  void forget();

 private:
  const Stream stream_;
  const std::size_t count_, readers_;
  const std::shared_ptr<const device::Device> pinned_;
  std::vector<std::unique_ptr<PooledBlock>> blocks_;
  std::size_t next_ = 0;
  mutable std::mutex mutex_;
  std::condition_variable freed_;
  bool stopped_ = false;
};

}  // namespace tautline::engine

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
  std::unique_ptr<device::Event> written;  ///< where a device writes: signals the end of its work
  /// For a block in a device's memory: one event for each edge, after the reader's work. Readers of host memory release
  /// a block after their work.
  std::vector<std::unique_ptr<device::Event>> read;
};

class BlockPool {
 public:
  /// `pinned`: a device that copies to or from host blocks, or null.
  BlockPool(const Stream& stream, std::size_t blocks, std::size_t readers,
            std::shared_ptr<const device::Device> pinned)
      : stream_(stream), count_(blocks), readers_(readers), pinned_(std::move(pinned)) {}

  void allocate();

  /// A free block, with the largest extents. Where there is none: waits for one, or returns null. Throws Stopped after
  /// stop().
  PooledBlock* take(bool wait);
  /// Adds `more` readers.
  void add_users(PooledBlock& block, std::size_t more);
  void release(PooledBlock& block);
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
  std::mutex mutex_;
  std::condition_variable freed_;
  bool stopped_ = false;
};

}  // namespace tautline::engine

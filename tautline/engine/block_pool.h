// The blocks of one output of a node: made once, handed out, and free again when their last reader has released them.
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

/// A block with what the engine knows of it.
struct PooledBlock : Block {
  std::size_t users = 0;                   ///< guarded by the pool's mutex
  std::unique_ptr<device::Event> written;  ///< where a device writes: after its work
  /// Of a block in a device's memory: one an edge, after the reader's work. Readers of host memory release a block
  /// afterwards.
  std::vector<std::unique_ptr<device::Event>> read;
};

class BlockPool {
 public:
  /// `pinned`: a device that copies to or from host blocks, or null.
  BlockPool(const Stream& stream, std::size_t blocks, std::size_t readers,
            std::shared_ptr<const device::Device> pinned)
      : stream_(stream), count_(blocks), readers_(readers), pinned_(std::move(pinned)) {}

  void allocate();

  /// A free block, its extents the largest. Where there is none: waits for one, or returns null. Throws Stopped after
  /// stop().
  PooledBlock* take(bool wait);
  /// `more` readers beside those it has.
  void add_users(PooledBlock& block, std::size_t more);
  void release(PooledBlock& block);
  /// Wakes whoever waits in take().
  void stop();
  /// Of a run that is over: lets go of the memory that blocks were lent and nobody took.
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

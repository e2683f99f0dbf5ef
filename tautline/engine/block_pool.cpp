#include "tautline/engine/block_pool.h"

namespace tautline::engine {

void BlockPool::allocate() {
  for (std::size_t k = 0; k < count_; ++k) {
    auto block = std::make_unique<PooledBlock>();
    for (const ArrayType& type : stream_.arrays) {
      Array array;
      array.type = type.type;
      array.rank = type.extents.size();
      std::ptrdiff_t stride = 1;
      for (std::size_t a = array.rank; a-- > 0;) {
        array.strides[a] = stride;
        stride *= static_cast<std::ptrdiff_t>(type.extents[a]);
      }
      if (!stream_.lent) {
        block->memory_.push_back(stream_.device ? stream_.device->allocate(type.bytes())
                                 : pinned_      ? pinned_->allocate_pinned(type.bytes())
                                                : device::Buffer(type.bytes()));
        array.data = block->memory_.back().data();
      }
      block->arrays.push_back(array);
    }
    block->uses.resize(readers_);
    const auto& writer = stream_.device ? stream_.device : pinned_;
    if (writer) block->written = writer->make_event();
    for (std::size_t r = 0; stream_.device && r < readers_; ++r)
      block->read.push_back(stream_.device->make_event());
    const std::lock_guard lock(mutex_);  // snapshots may be taken meanwhile
    blocks_.push_back(std::move(block));
  }
}

PooledBlock* BlockPool::take(bool wait) {
  std::unique_lock lock(mutex_);
  // In turn, so that a device has as much time as possible to finish with a block.
  const auto free = [&]() -> PooledBlock* {
    for (std::size_t k = 0; k < blocks_.size(); ++k) {
      PooledBlock& block = *blocks_[(next_ + k) % blocks_.size()];
      if (block.users > 0) continue;
      next_ = (next_ + k + 1) % blocks_.size();
      return &block;
    }
    return nullptr;
  };
  PooledBlock* block = free();
  if (block == nullptr && wait)
    freed_.wait(lock, [&] { return stopped_ || (block = free()) != nullptr; });
  if (stopped_) throw Stopped{};
  if (block == nullptr) return nullptr;
  block->users = 1;
  for (std::size_t k = 0; k < block->arrays.size(); ++k) {
    // The node may have lent only some of the arrays.
    if (!stream_.lent) block->arrays[k].data = block->memory_[k].data();
    for (std::size_t a = 0; a < block->arrays[k].rank; ++a)
      block->arrays[k].extents[a] = stream_.arrays[k].extents[a];
  }
  return block;
}

void BlockPool::add_readers(PooledBlock& block) {
  const std::lock_guard lock(mutex_);
  block.users += readers_;
  for (std::size_t& uses : block.uses) ++uses;
}

void BlockPool::add_user(PooledBlock& block, std::size_t ring) {
  const std::lock_guard lock(mutex_);
  ++block.users;
  if (ring != kNoRing) ++block.uses.at(ring);
}

std::size_t BlockPool::used_by(std::size_t ring) const {
  const std::lock_guard lock(mutex_);
  std::size_t count = 0;
  for (const auto& block : blocks_) count += block->uses.at(ring) > 0 ? 1 : 0;
  return count;
}

void BlockPool::release(PooledBlock& block, std::size_t ring) {
  {
    const std::lock_guard lock(mutex_);
    if (ring != kNoRing) --block.uses.at(ring);
    if (--block.users > 0) return;
    block.owners_.clear();
  }
  freed_.notify_one();
}

void BlockPool::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  freed_.notify_all();
}

void BlockPool::forget() {
  for (const auto& block : blocks_) block->owners_.clear();
}

}  // namespace tautline::engine

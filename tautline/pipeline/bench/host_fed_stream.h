// Sends blocks through a device, three under way: one is uploaded, one processed, one downloaded.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "tautline/device/device.h"

namespace tautline::pipeline {

class HostFedStream {
 public:
  /// Works on `in` and writes all of `out`, both in the device's memory; enqueues only.
  using Work = std::function<void(device::Queue& queue, const void* in, void* out)>;

  /// `blocks` blocks of random bytes in pinned memory are sent again and again.
  HostFedStream(std::shared_ptr<const device::Device> device, std::size_t in_bytes,
                std::size_t out_bytes, std::size_t blocks, Work work);

  /// Sends `count` blocks (more than six), and gives the seconds of a block in each of `parts`
  /// parts of the stream, which begins when the first results have arrived.
  std::vector<double> run(std::size_t count, std::size_t parts);

  /// The results of the last block that was sent, in host memory.
  const void* last_result() const;

  /// Sends the last `count` blocks again, each alone from copy to copy, and tells whether the last
  /// one's results are the same bytes.
  bool same_one_at_a_time(std::size_t count);

  device::Queue& queue() { return *compute_; }

 private:
  static constexpr std::size_t kDepth = 3;
  struct Slot {
    device::Buffer in, out, result;
    std::unique_ptr<device::Event> arrived, worked, left;
  };

  void send(std::size_t block);
  const device::Buffer& source(std::size_t block) const {
    return sources_[block % sources_.size()];
  }

  std::shared_ptr<const device::Device> device_;
  Work work_;
  std::unique_ptr<device::Queue> incoming_, compute_, outgoing_;
  std::array<Slot, kDepth> slots_;
  std::vector<device::Buffer> sources_;
  std::vector<std::unique_ptr<device::Event>> marks_;
  std::size_t sent_ = 0;
};

}  // namespace tautline::pipeline

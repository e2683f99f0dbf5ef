// What the benchmarks of packets share: a capture of a layout's packets, the blocks that it fills, and the packets.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tautline/stream/capture.h"

namespace tautline::bench {

using Bytes = std::vector<std::byte>;

/// Blocks of memory that is used again and again.
class ReusedBlocks final : public stream::BlockStore {
 public:
  void make(std::size_t count, std::size_t bytes) {
    for (std::size_t k = 0; k < count; ++k) free_.emplace_back(bytes, std::byte{1});
  }
  std::byte* begin() override {
    begun_.push_back(std::move(free_.front()));
    free_.pop_front();
    return begun_.back().data();
  }
  void commit(const stream::CapturedBlock&) override {
    free_.push_back(std::move(begun_.front()));
    begun_.pop_front();
  }

 private:
  std::deque<Bytes> free_, begun_;
};

/// Of so many antennas where the layout tells several, in blocks of about 16 MB: longer than caches.
inline stream::CaptureConfig capture_of(const std::string& layout_name, std::size_t antennas) {
  using formats::packets::AxisName;
  constexpr std::size_t kBlock_bytes = std::size_t{1} << 24;
  stream::CaptureConfig config;
  config.layout = formats::packets::read_layout(layout_name);
  const formats::packets::PacketLayout& layout = config.layout;
  if (layout.field(formats::packets::Meaning::antenna) != nullptr)
    config.shape.antennas = antennas * layout.extent(AxisName::antenna);
  const formats::packets::Placement one(
      layout, {.samples = layout.samples(), .antennas = config.shape.antennas});
  config.shape.samples =
      std::max<std::size_t>(4, kBlock_bytes / one.block_bytes()) * layout.samples();
  return config;
}

/// The packet of a flow's payload number `time`.
inline void make_packet(const formats::packets::PacketLayout& layout,
                        const formats::packets::Placement& placement, std::uint64_t time,
                        std::size_t flow, std::span<const std::byte> payload, Bytes& packet) {
  formats::packets::PacketHeader header = placement.header(flow);
  header.count = time * layout.step;
  header.payload = payload;
  encode(layout, header, packet);
}

}  // namespace tautline::bench

// From payloads to blocks of samples by (time, channel, antenna, polarisation), and back.
//
// | buffer  | axes                                                                       | written       |
// | payload | the layout's axes, as they come                                            | read          |
// | block   | what a payload has no axis of (antenna, channel, polarisation), then its   | the payload's |
// |         | own axes over the whole block: a core::RawLayout                           | place         |
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "tautline/core/voltage.h"
#include "tautline/formats/packets/packet_layout.h"

namespace tautline::formats::packets {

/// The wanted part of the packets.
struct BlockShape {
  std::size_t samples = 0;  ///< times of a block, a multiple of a payload's
  std::size_t channels = 0, antennas = 0, polarisations = 0;  ///< 0: as many as a payload has
  std::uint64_t first_channel = 0;
  /// The first antenna of each payload as headers number it, in the blocks' order; empty: 0, n, 2n ... for n antennas a
  /// payload. Not for layouts that number inputs.
  std::vector<std::uint64_t> antenna_numbers = {};
};

/// A place along each axis.
struct Box {
  std::array<std::size_t, kAxes> first{}, count{};
  std::size_t begin(AxisName axis) const { return first[static_cast<std::size_t>(axis)]; }
  std::size_t size(AxisName axis) const { return count[static_cast<std::size_t>(axis)]; }
};

/// A block's samples at the times of one payload come in `flows` packets, one of each flow: a part of a payload of one
/// antenna, channel and polarisation. Its scratch memory makes an object one thread's.
class Placement {
 public:
  /// Throws Error(config) that names the axis of the shape that does not fit the layout.
  Placement(const PacketLayout& layout, BlockShape shape);

  const core::RawLayout& block_layout() const { return block_layout_; }
  std::size_t block_bytes() const { return block_bytes_; }
  /// The shape, with the sizes that were left out filled in.
  const BlockShape& shape() const { return shape_; }
  std::size_t flows() const { return boxes_.size(); }
  /// The flow of a packet; none where the packet's antenna, channel or polarisation is not wanted.
  std::optional<std::size_t> flow(const PacketHeader& header) const;
  /// The place of a flow's first payload in a block; antennas and channels count from the block's first.
  const Box& box(std::size_t flow) const { return boxes_[flow]; }
  /// The header fields that a sender writes for a flow, except count and payload. Fields that are not in the packet are
  /// left out: source() has them.
  PacketHeader header(std::size_t flow) const;
  /// The number of the connection that a flow's packets come from; 0 where the layout reads none.
  std::uint64_t source(std::size_t flow) const;

  /// Writes a payload (PacketLayout::part_bytes) to its place in a block, where time `sample` is its heap's first.
  void place(std::size_t flow, std::size_t sample, const std::byte* payload, std::byte* block);
  /// Writes zeros to the place of that payload.
  void clear(std::size_t flow, std::size_t sample, std::byte* block) const;
  /// The inverse of place(), for senders: reads the block, writes the payload.
  void take(std::size_t flow, std::size_t sample, const std::byte* block, std::byte* payload);

 private:
  struct Loop {
    std::size_t count, payload_bytes, block_bytes;  // strides
  };
  void lay_out_block();
  void make_boxes();
  void make_loops();
  std::size_t stride_bits(AxisName axis) const;
  template <class Copy>
  void for_runs(Copy copy) const;

  PacketLayout layout_;
  BlockShape shape_;
  core::RawLayout block_layout_;
  std::size_t block_bytes_ = 0;
  std::vector<Box> boxes_;          // of flows
  std::vector<std::size_t> bases_;  // bytes from the block's first sample to a flow's
  std::vector<Loop> loops_;         // outermost first, around the copies of run_bytes_
  std::size_t run_bytes_ = 0;
  std::vector<std::byte> scratch_;  // a payload of samples as placed, where they are not as sent
};

}  // namespace tautline::formats::packets

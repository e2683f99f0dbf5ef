// The blocks of an engine's output as memory that packets are placed in: raw voltages. Where packets of single channels may
// be lost, a block has two accounts of what is invalid: its payload's, in which a time is invalid in all channels if it is in
// any, and its mask, [channel][input], of no rows where all is valid.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>

#include "tautline/core/time.h"
#include "tautline/engine/node.h"
#include "tautline/stream/capture.h"

namespace tautline::stream {

/// When segments of a capture began.
class SegmentClock {
 public:
  /// `start` is that of the first segment; without it the layout's absolute counts tell, or `now` where it has none.
  SegmentClock(const formats::packets::PacketLayout& layout, std::optional<core::Instant> start,
               std::function<core::Instant()> now)
      : layout_(layout), start_(start), now_(std::move(now)) {}

  /// Of segments in their order. One that begins later by the counter begins so much later; a sender whose counter went
  /// back began now, unless counts are absolute.
  core::Instant start_of(std::uint64_t start_count);

 private:
  formats::packets::PacketLayout layout_;
  std::optional<core::Instant> start_;  // then: of the latest segment
  std::uint64_t count_ = 0;             // of that
  bool begun_ = false;
  std::function<core::Instant()> now_;
};

/// The stream's blocks have an array of Capture::block_bytes, and Capture::open_blocks may be open.
class OutputBlocks final : public BlockStore {
 public:
  OutputBlocks(SegmentClock clock, std::size_t port = 0) : clock_(std::move(clock)), port_(port) {}
  /// Before packets are placed: the outputs of the node that calls, and the capture's layout of blocks.
  void use(engine::Outputs& outputs, const core::RawLayout& layout) {
    outputs_ = &outputs;
    layout_ = layout;
  }

  std::byte* begin() override;
  void commit(const CapturedBlock& block) override;
  /// Of a block, in the order in which they are given on.
  core::Instant segment_start(const CapturedBlock& block);

 private:
  SegmentClock clock_;
  std::size_t port_;
  engine::Outputs* outputs_ = nullptr;
  core::RawLayout layout_;
  std::deque<engine::Block*> begun_;
  std::optional<std::uint64_t> segment_;
  core::Instant segment_start_;
};

}  // namespace tautline::stream

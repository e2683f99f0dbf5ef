// The blocks of an engine's output as memory that packets are placed in: raw voltages. Where packets of single channels may
// be lost, a block has two accounts of what is invalid: its payload's, in which a time is invalid in all channels if it is in
// any, and its mask, [channel][input], of no rows where all is valid.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
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

/// What OutputBlocks::begin leaves by when nothing more is wanted of other threads.
struct OutputEnded {};

/// The stream's blocks have an array of Capture::block_bytes, and Capture::open_blocks may be open.
///
/// An engine's outputs are used on the thread of their node. Where other threads place packets (share()), they begin and
/// commit blocks here, one at a time, and the node's thread begins blocks ahead of them and hands on what they committed
/// (serve()).
class OutputBlocks final : public BlockStore {
 public:
  /// That are begun before they are asked for: they may be open beside those of the capture.
  static constexpr std::size_t kAhead = 2;

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

  /// From now on other threads begin and commit, until the node's thread calls alone(). `open_blocks`: the capture's.
  void share(std::size_t open_blocks);
  /// On the node's thread: false where there was nothing to do.
  bool serve();
  /// The same: until there is something, or no longer than `most`.
  void wait(std::chrono::milliseconds most);
  /// Others leave begin() by OutputEnded.
  void end();
  /// Behind the last call of other threads.
  void alone();

 private:
  engine::Block& next_block();
  void fill(const CapturedBlock& block);
  bool wants_block() const { return ready_.size() < kAhead && in_use_ < most_in_use_; }

  SegmentClock clock_;
  std::size_t port_;
  engine::Outputs* outputs_ = nullptr;
  core::RawLayout layout_;
  std::deque<engine::Block*> begun_;
  std::optional<std::uint64_t> segment_;
  core::Instant segment_start_;

  bool shared_ = false;
  std::size_t in_use_ = 0, most_in_use_ = 0;  // begun and not handed on; of the node's thread
  std::mutex mutex_;                          // of what follows
  std::condition_variable asked_, given_;
  std::deque<engine::Block*> ready_;
  std::size_t filled_ = 0;  // blocks to hand on
  bool ended_ = false;
};

}  // namespace tautline::stream

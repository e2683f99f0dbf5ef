// The blocks of an engine's output as memory that packets are placed in: raw voltages. Where packets of single channels
// may be lost, a block describes invalid samples twice: in its payload, in which a time that is invalid in any channel
// is invalid in all, and in its mask, [channel][input], of no rows where all is valid.
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
#include "tautline/stream/empty_channels.h"

namespace tautline::stream {

/// The start times of a capture's segments.
class SegmentClock {
 public:
  /// `start` is the start of the first segment; without it the layout's absolute counts give it, or `now` where counts
  /// are not absolute.
  SegmentClock(const formats::packets::PacketLayout& layout, std::optional<core::Instant> start,
               std::function<core::Instant()> now)
      : layout_(layout), start_(start), now_(std::move(now)) {}

  /// The start of a segment, called in order. The counter's advance moves the start; where the counter went back, the
  /// segment starts now, unless counts are absolute.
  core::Instant start_of(std::uint64_t start_count);

 private:
  formats::packets::PacketLayout layout_;
  std::optional<core::Instant> start_;  // of the latest segment
  std::uint64_t count_ = 0;             // count at `start_`
  bool begun_ = false;
  std::function<core::Instant()> now_;
};

/// Thrown by OutputBlocks::begin when no more blocks are wanted of other threads.
struct OutputEnded {};

/// The stream's blocks have an array of Capture::block_bytes, and Capture::open_blocks may be open.
/// An engine's outputs are used on the thread of their node. Where other threads place packets (share()), they begin
/// and commit blocks here, one at a time; the node's thread begins blocks ahead of them and hands on the committed ones
/// (serve()).
class OutputBlocks final : public BlockStore {
 public:
  /// Blocks that are begun ahead of demand: they may be open beside those of the capture.
  static constexpr std::size_t kAhead = 2;

  OutputBlocks(SegmentClock clock, std::size_t port = 0) : clock_(std::move(clock)), port_(port) {}
  /// Before packets are placed: the outputs of the calling node, and the capture's block layout.
  /// `empty`: invalidates channels that do not change; null: nothing does.
  void use(engine::Outputs& outputs, const core::RawLayout& layout,
           EmptyChannelFinder* empty = nullptr) {
    outputs_ = &outputs;
    layout_ = layout;
    empty_ = empty;
  }

  std::byte* begin() override;
  void commit(const CapturedBlock& block) override;
  /// The start of each block, in the order of commits.
  core::Instant segment_start(const CapturedBlock& block);

  /// From now on other threads begin and commit blocks, until the node's thread calls alone(). `open_blocks`: the
  /// capture's.
  void share(std::size_t open_blocks);
  /// On the node's thread: hands blocks on and begins new ones; false where there was nothing to do.
  bool serve();
  /// As above, but waits for work, no longer than `most`.
  void wait(std::chrono::milliseconds most);
  /// Other threads leave begin() by OutputEnded.
  void end();
  /// After the last call of other threads.
  void alone();

 private:
  engine::Block& next_block();
  engine::Block& fill(const CapturedBlock& block);
  void hand_on(engine::Block& block);
  bool wants_block() const { return ready_.size() < kAhead && in_use_ < most_in_use_; }

  SegmentClock clock_;
  std::size_t port_;
  engine::Outputs* outputs_ = nullptr;
  core::RawLayout layout_;
  EmptyChannelFinder* empty_ = nullptr;
  std::deque<engine::Block*> begun_;
  std::optional<std::uint64_t> segment_;
  core::Instant segment_start_;

  bool shared_ = false;
  std::size_t in_use_ = 0, most_in_use_ = 0;  // begun and not handed on; of the node's thread
  std::mutex mutex_;                          // guards the members below
  std::condition_variable asked_, given_;
  std::deque<engine::Block*> ready_;
  std::deque<engine::Block*> filled_;  // to hand on
  bool ended_ = false;
};

}  // namespace tautline::stream

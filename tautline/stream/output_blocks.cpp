#include "tautline/stream/output_blocks.h"

namespace tautline::stream {

core::Instant SegmentClock::start_of(std::uint64_t start_count) {
  const auto absolute = formats::packets::instant_of(layout_, start_count);
  const core::Rational rate = layout_.counts_hz();
  const auto later = static_cast<std::int64_t>(start_count - count_);
  if (!begun_)
    start_ = start_ ? start_ : absolute ? absolute : now_();
  else if (absolute && later < 0)
    start_ = absolute;
  else if (later >= 0 && rate.numerator != 0)
    start_ = core::advance(*start_, later, rate);
  else
    start_ = now_();
  begun_ = true;
  count_ = start_count;
  return *start_;
}

engine::Block& OutputBlocks::next_block() {
  if (!shared_ && ready_.empty()) return outputs_->begin(port_);
  std::unique_lock lock(mutex_);
  given_.wait(lock, [&] { return !ready_.empty() || ended_; });
  if (ended_) throw OutputEnded{};
  engine::Block& block = *ready_.front();
  ready_.pop_front();
  asked_.notify_one();
  return block;
}

std::byte* OutputBlocks::begin() {
  engine::Block& block = next_block();
  begun_.push_back(&block);
  return static_cast<std::byte*>(block.arrays.front().data);
}

core::Instant OutputBlocks::segment_start(const CapturedBlock& captured) {
  if (segment_ != captured.segment) {
    segment_ = captured.segment;
    segment_start_ = clock_.start_of(captured.start_count);
  }
  return segment_start_;
}

void OutputBlocks::commit(const CapturedBlock& captured) {
  engine::Block& block = fill(captured);
  if (!shared_) return hand_on(block);
  const std::lock_guard lock(mutex_);
  filled_.push_back(&block);
  asked_.notify_one();
}

// The search for channels that stop is not on the path of the threads that receive.
void OutputBlocks::hand_on(engine::Block& block) {
  if (empty_ != nullptr) empty_->look(block.payload_of<core::RawBlock>(), block.valid);
  outputs_->commit(port_);
}

void OutputBlocks::share(std::size_t open_blocks) {
  in_use_ = begun_.size();
  most_in_use_ = open_blocks + kAhead;
  shared_ = true;
}

bool OutputBlocks::serve() {
  std::unique_lock lock(mutex_);
  if (!filled_.empty()) {
    engine::Block& block = *filled_.front();
    filled_.pop_front();
    lock.unlock();
    --in_use_;
    hand_on(block);
    return true;
  }
  if (!wants_block()) return false;
  lock.unlock();
  engine::Block& block = outputs_->begin(port_);
  ++in_use_;
  lock.lock();
  ready_.push_back(&block);
  given_.notify_one();
  return true;
}

void OutputBlocks::wait(std::chrono::milliseconds most) {
  std::unique_lock lock(mutex_);
  asked_.wait_for(lock, most, [&] { return !filled_.empty() || wants_block(); });
}

void OutputBlocks::end() {
  const std::lock_guard lock(mutex_);
  ended_ = true;
  given_.notify_all();
}

void OutputBlocks::alone() {
  shared_ = false;
  for (; !filled_.empty(); filled_.pop_front()) hand_on(*filled_.front());
}

engine::Block& OutputBlocks::fill(const CapturedBlock& captured) {
  engine::Block& block = *begun_.front();
  begun_.pop_front();
  block.segment = captured.segment;
  block.segment_start = segment_start(captured);
  block.first = captured.first;
  block.samples = captured.samples;
  auto& raw = block.payload_of<core::RawBlock>();
  const engine::Array& bytes = block.arrays.front();
  raw.bytes.lend({static_cast<std::byte*>(bytes.data), bytes.extents[0]});
  raw.layout = layout_;
  raw.first_sample = captured.first;
  raw.samples = captured.samples;
  captured.clear_missing(static_cast<std::byte*>(bytes.data));
  captured.invalid_spans(raw.invalid);
  if (captured.whole())
    block.valid = {};
  else
    captured.validity(false, block.valid);
  return block;
}

}  // namespace tautline::stream

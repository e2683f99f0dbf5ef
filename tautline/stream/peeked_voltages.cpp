#include "tautline/stream/peeked_voltages.h"

namespace tautline::stream {

void PeekedVoltages::start(const std::stop_token& stop, const Waits& waits) {
  stream_->start(stop, [this, waits](bool begins) {
    if (reading_ && waits) waits(begins);  // the peeking thread is none of the run's
  });
  const std::lock_guard lock(mutex_);
  started_ = true;
  started_now_.notify_all();
}

std::size_t PeekedVoltages::read(std::size_t samples, core::RawBlock& block,
                                 SegmentPlace& segment) {
  reading_ = true;
  if (kept_.empty()) return stream_->read(samples, block, segment);
  const Kept& first = kept_.front();
  block.bytes.assign(first.block.bytes.begin(), first.block.bytes.end());
  block.layout = first.block.layout;
  block.first_sample = first.block.first_sample;
  block.samples = first.block.samples;
  block.invalid = first.block.invalid;
  segment = first.segment;
  kept_.pop_front();
  return block.samples;
}

std::size_t PeekedVoltages::peek(std::size_t samples, core::RawBlock& block, SegmentPlace& segment,
                                 const std::stop_token& stop) {
  {
    std::unique_lock lock(mutex_);
    if (!started_now_.wait(lock, stop, [this] { return started_; })) return 0;
  }
  const std::size_t got = stream_->read(samples, block, segment);
  if (got > 0) {
    Kept& kept = kept_.emplace_back(block, segment);
    kept.block.bytes = {};  // the block's may be lent
    kept.block.bytes.assign(block.bytes.begin(), block.bytes.end());
  }
  return got;
}

bool PeekedVoltages::hand_over() {
  reading_ = true;
  return kept_.empty();
}

}  // namespace tautline::stream

#include "tautline/stream/peeked_voltages.h"

namespace tautline::stream {

namespace {

constexpr std::chrono::milliseconds kPublishEvery{100};

}  // namespace

void PeekedVoltages::start(const std::stop_token& stop, const Waits& waits) {
  stream_->start(stop, [this, waits](bool begins) {
    if (!reading_) {  // the peeking thread is none of the source's
      if (!begins && Clock::now() - published_at_ >= kPublishEvery) publish();
    } else if (waits) {
      waits(begins);
    }
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
    if (!std::exchange(peeking_, true)) peeking_since_ = Clock::now();
    if (!peeked_) peeked_.emplace();
  }
  const std::size_t got = stream_->read(samples, block, segment);
  peeked_samples_ += got;
  publish();
  if (got > 0) {
    Kept& kept = kept_.emplace_back(block, segment);
    kept.block.bytes = {};  // the block's may be lent
    kept.block.bytes.assign(block.bytes.begin(), block.bytes.end());
  }
  return got;
}

// On the peeking thread: the stream's counts may change while another one reads them.
void PeekedVoltages::publish() {
  published_at_ = Clock::now();
  engine::FirstData now{0, stream_->counters(), stream_->problems()};
  now.counters["samples"] = peeked_samples_;
  now.counters["lost_samples"] = stream_->damage().lost_samples;
  const std::lock_guard lock(mutex_);
  peeked_ = std::move(now);
}

void PeekedVoltages::end_peeking() {
  const std::lock_guard lock(mutex_);
  peeking_ = false;
  if (peeked_) peeked_->problems.clear();
}

std::optional<engine::FirstData> PeekedVoltages::peeked() const {
  const std::lock_guard lock(mutex_);
  std::optional<engine::FirstData> now = peeked_;
  if (now)
    now->reading_s =
        peeking_ ? std::chrono::duration<double>(Clock::now() - peeking_since_).count() : -1;
  return now;
}

bool PeekedVoltages::hand_over() {
  reading_ = true;
  return kept_.empty();
}

}  // namespace tautline::stream

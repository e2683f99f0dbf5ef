// A stream, live or simulated, whose first blocks can be read before the run reads them.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "tautline/engine/node.h"
#include "tautline/stream/voltage_stream.h"

namespace tautline::stream {

/// Delivers the other stream's blocks. Before its first read, peek() may be used, also by another thread.
class PeekedVoltages final : public VoltageStream {
 public:
  explicit PeekedVoltages(std::unique_ptr<VoltageStream> stream) : stream_(std::move(stream)) {}

  const core::VoltageDescription& description() const override { return stream_->description(); }
  core::RawLayout layout(std::size_t samples) const override { return stream_->layout(samples); }
  std::size_t block_bytes(std::size_t samples) const override {
    return stream_->block_bytes(samples);
  }
  std::uint64_t total_samples() const override { return stream_->total_samples(); }
  const core::Instant& end() const override { return stream_->end(); }
  const std::vector<std::string>& files() const override { return stream_->files(); }
  std::size_t bytes() const override { return stream_->bytes(); }
  void start(const std::stop_token& stop, const Waits& waits) override;
  std::size_t read(std::size_t samples, core::RawBlock& block, SegmentPlace& segment) override;
  // The other stream's counts may change while another thread peeks.
  formats::Damage damage() const override {
    return reading_ ? stream_->damage() : formats::Damage{};
  }
  std::uint64_t gap_samples() const override { return reading_ ? stream_->gap_samples() : 0; }
  std::uint64_t skipped_gap_samples() const override { return stream_->skipped_gap_samples(); }
  bool live() const override { return stream_->live(); }
  std::map<std::string, std::uint64_t> counters() const override {
    return reading_ ? stream_->counters() : std::map<std::string, std::uint64_t>{};
  }
  std::vector<std::string> problems() const override {
    return reading_ ? stream_->problems() : std::vector<std::string>{};
  }

  /// The next block, which read() delivers again: all are kept until then. 0 at the end, after a stop and where start()
  /// failed. Waits for start().
  std::size_t peek(std::size_t samples, core::RawBlock& block, SegmentPlace& segment,
                   const std::stop_token& stop);
  /// No peek follows for now.
  void end_peeking();
  /// What the peeks have got so far, at most a tenth of a second ago while they wait; none before the first. Any thread.
  std::optional<engine::FirstData> peeked() const;
  /// Ends peeking, for a caller that reads the other stream itself. False: read() has blocks to deliver first.
  bool hand_over();

 private:
  struct Kept {
    core::RawBlock block;
    SegmentPlace segment;
  };

  using Clock = std::chrono::steady_clock;
  void publish();

  std::unique_ptr<VoltageStream> stream_;
  mutable std::mutex mutex_;  // guards the members below
  std::condition_variable_any started_now_;
  bool started_ = false, peeking_ = false;
  std::optional<engine::FirstData> peeked_;
  Clock::time_point peeking_since_ = {};
  // Of the peeking thread, and of the reading thread after it.
  bool reading_ = false;
  Clock::time_point published_at_ = {};
  std::uint64_t peeked_samples_ = 0;
  std::deque<Kept> kept_;
};

}  // namespace tautline::stream

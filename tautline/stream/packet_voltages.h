// Voltages that come as packets over UDP, placed by their layout and counted by a capture.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "tautline/stream/capture.h"
#include "tautline/stream/output_blocks.h"
#include "tautline/stream/receiving_threads.h"
#include "tautline/stream/shared_capture.h"
#include "tautline/stream/udp.h"
#include "tautline/stream/voltage_stream.h"
#include "tautline/stream/wait_reminder.h"

namespace tautline::stream {

struct PacketVoltagesConfig {
  UdpReceiverConfig network;  ///< a packet's source is the number of its address
  CaptureConfig capture;      ///< with the samples of a block
  /// Facts that the layout lacks: centre, bandwidth (0: as wide as the rate implies), start.
  core::VoltageDescription described = {};
  double wait_s = -1;  ///< for the first packets; negative: until a stop
  /// The stream ends after so long without an accepted packet; negative: never.
  double silence_s = -1;
  double late_s = 1;  ///< after so long without packets, blocks are committed though not full
  /// A message says that no packet has come after so long, and each time that the wait has become twice as long.
  double remind_s = 5;
  double duration_s = -1;  ///< ends after this much data, in whole payloads; negative: never
  /// Threads that receive and place packets; more than one: beside the calling thread, from place_in() on.
  std::size_t threads = 1;
  /// Of the first receiving thread; the others stay on the following ones; negative: any.
  int processor = -1;
  core::LogSink log = {};
};

/// read() copies blocks from this object's own memory, until place_in(): then packets are placed in the blocks of an
/// engine's output, and receive() replaces read().
class PacketVoltages final : public VoltageStream, private BlockStore {
 public:
  /// Throws Error(config) that names the field that does not fit the layout.
  explicit PacketVoltages(PacketVoltagesConfig config);
  ~PacketVoltages() override;

  const core::VoltageDescription& description() const override { return description_; }
  core::RawLayout layout(std::size_t) const override { return capture_.block_layout(); }
  std::size_t block_bytes(std::size_t) const override { return capture_.block_bytes(); }
  std::uint64_t total_samples() const override { return 0; }
  const core::Instant& end() const override { return end_; }
  const std::vector<std::string>& files() const override { return addresses_; }
  /// Listens only from the first read() or receive() on: packets that come before the run reads would be lost.
  void start(const std::stop_token& stop, const Waits& waits = {}) override {
    stop_ = stop;
    waits_ = waits;
  }
  /// `samples` must be those of a block.
  std::size_t read(std::size_t samples, core::RawBlock& block, SegmentPlace& segment) override;
  formats::Damage damage() const override;
  bool live() const override { return true; }
  std::map<std::string, std::uint64_t> counters() const override;
  /// That packets come, and none is accepted.
  std::vector<std::string> problems() const override;

  /// Of the block that was read last: what came, [channel][input]; of no rows: everything. And the count of its
  /// segment's first sample, without wraps.
  const core::ValidityMask& validity() const { return valid_; }
  std::uint64_t start_count() const { return start_count_; }

  std::size_t block_samples() const { return capture_.placement().shape().samples; }
  /// engine::Stream::open_blocks.
  std::size_t open_blocks() const {
    return capture_.open_blocks() + (config_.threads > 1 ? OutputBlocks::kAhead : 0);
  }
  /// Whether all complete blocks were read.
  bool all_read() const { return given_.empty(); }
  /// Then packets are placed in the blocks of `outputs` from now on. `empty`: OutputBlocks::use().
  void place_in(engine::Outputs& outputs, EmptyChannelFinder* empty = nullptr);
  /// Places the packets that have come, or waits a little. False at the end: after a stop, the duration or silence.
  /// Throws Error(io) where no accepted packet came in `wait_s`.
  bool receive();
  /// Times delivered so far.
  std::uint64_t samples() const { return given_samples_; }
  /// From now on no packet is placed, and no block of the outputs is used.
  void abandon();

 private:
  using Clock = std::chrono::steady_clock;
  struct Given {
    std::vector<std::byte> bytes;
    SegmentPlace segment;
    std::uint64_t first;
    std::size_t samples;
    std::vector<core::InvalidSpan> invalid;
    core::ValidityMask valid = {};
    std::uint64_t start_count = 0;
  };

  // Reads the counters of capture and network while threads receive.
  CaptureCounters captured() const;
  UdpCounters network() const;
  std::size_t receive_here(std::chrono::milliseconds most);
  void receive_by_threads();
  void end_threads();

  std::byte* begin() override;
  void commit(const CapturedBlock& block) override;
  void keep(const CapturedBlock& block);
  void open();
  bool is_over(Clock::time_point now);
  void finish();
  void note_refused();
  void remind(double waited_s);
  std::string what_came() const;
  void note(std::string text);

  PacketVoltagesConfig config_;
  core::VoltageDescription description_;
  core::Instant end_;
  std::vector<std::string> addresses_;
  std::stop_token stop_;
  Waits waits_;
  OutputBlocks outputs_;
  Capture capture_;
  std::vector<std::unique_ptr<UdpReceiver>> receivers_;               // one for each thread
  std::atomic<std::uint64_t> left_ = UINT64_MAX, given_samples_ = 0;  // times
  std::atomic<std::uint64_t> lost_packets_ = 0;  // of committed blocks, with flagged packets
  // Memory of blocks that were begun before place_in(), and the place of each in the output afterwards.
  std::deque<std::vector<std::byte>> own_;
  std::deque<std::byte*> own_places_;
  core::ValidityMask valid_;  // of the block that was read last
  std::uint64_t start_count_ = 0;
  std::deque<Given> given_;  // complete blocks that read() has not delivered
  bool placing_ = false, flushed_ = false, ended_ = false;
  bool noted_none_ = false;  // a warning was logged that packets come and none is of the layout
  std::uint64_t accepted_ = 0, jumps_ = 0;  // at the last check
  Clock::time_point opened_at_ = {}, accepted_at_ = {};
  std::vector<std::string> listens_at_;  // with the ports that the system chose
  WaitReminder reminder_;
  formats::Damage damage_;
  std::unique_ptr<SharedCapture> shared_;  // of the threads
  std::unique_ptr<ReceivingThreads> threads_;
};

}  // namespace tautline::stream

// The MWA prototype's receivers over TCP: an aggregator of several connections, aligned by their counters.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tautline/formats/mwa32t/record_parser.h"
#include "tautline/stream/tcp.h"
#include "tautline/stream/voltage_stream.h"
#include "tautline/stream/wait_reminder.h"

namespace tautline::stream {

struct MwaReceiversConfig {
  /// One address for all receivers, which are then numbered in the order of their connections, or one for each.
  std::vector<Endpoint> listen;
  std::size_t receivers = 4;
  formats::mwa32t::Mode mode = formats::mwa32t::Mode::two_byte;
  /// Rate, centre, sideband, start; unset: the instrument's, the clock's.
  core::VoltageDescription assumed = {};
  /// How long to wait for the others after the first receiver has connected, and for any after the last has gone.
  double wait_s = 5;
  /// How long to wait for a receiver that is connected and silent while others send.
  double late_s = 1;
  /// A message says that no receiver has sent anything after so long, and each time that the wait has become twice as
  /// long.
  double remind_s = 5;
  double duration_s = -1;  ///< data to deliver; negative: until the receivers end
  core::LogSink log = {};
};

/// The stream begins when all receivers have connected, or at the end of the wait, with the first sample that every
/// connected receiver has. The counter gives the time modulo 51.2 ms: receivers must run from one clock and send within
/// a quarter of that period of each other. Records that a receiver sends before the others have connected are kept, and
/// skipped when the stream begins. Records that a receiver fails to send while others go on are lost: invalid, and
/// counted. A receiver may reconnect; its records are then placed at the time, of those that its counter allows, that
/// is nearest to the other receivers' records. Connections are read only as fast as blocks are, so the memory of
/// waiting bytes is bounded.
class MwaReceivers final : public VoltageStream {
 public:
  explicit MwaReceivers(MwaReceiversConfig config);

  const core::VoltageDescription& description() const override { return description_; }
  core::RawLayout layout(std::size_t samples) const override;
  std::size_t block_bytes(std::size_t samples) const override;
  std::uint64_t total_samples() const override { return 0; }
  const core::Instant& end() const override { return end_; }
  const std::vector<std::string>& files() const override { return addresses_; }
  void start(const std::stop_token& stop, const Waits& waits = {}) override;
  std::size_t read(std::size_t samples, core::RawBlock& block, SegmentPlace& segment) override;
  formats::Damage damage() const override;
  bool live() const override { return true; }
  std::map<std::string, std::uint64_t> counters() const override;
  /// Receivers that have not connected, have gone, or have sent nothing for a second.
  std::vector<std::string> problems() const override;

  /// After start(): the addresses with the ports that the system chose.
  std::vector<Endpoint> listening() const { return server_->listening(); }

 private:
  using Clock = std::chrono::steady_clock;
  struct Receiver {
    explicit Receiver(formats::mwa32t::Mode mode) : parser(mode) {}

    formats::mwa32t::RecordParser parser;
    std::size_t filled = 0;  // samples of the block, with lost ones
    std::uint64_t connections = 0, received_bytes = 0;
    Clock::time_point last_came = {}, placed_at = {};
    Clock::duration quiet = {};  // without bytes, while they were waited for
    bool silent = false;         // it is not waited for
    bool noted = false;          // its end was logged
  };

  void receive();
  void note_connections(std::size_t index);
  bool look_for_first(std::size_t index);
  std::int64_t waiting(std::size_t index) const;
  std::string wrong_with(std::size_t index) const;
  void note_newest(std::size_t index);
  bool is_early(std::size_t index) const;
  std::int64_t samples_since(Clock::time_point since) const;
  void begin_with(std::size_t index);
  void end_without_records();
  bool find_origin();
  void fill(std::size_t index, std::size_t samples, core::RawBlock& block);
  void lose(std::size_t index, std::size_t end, core::RawBlock& block);
  bool is_gone(std::size_t index) const;
  bool all_gone();
  bool is_complete(std::size_t samples);
  std::size_t last_time() const;
  std::size_t close_block(std::size_t produced, core::RawBlock& block, SegmentPlace& segment);
  std::int64_t time_near(std::size_t index) const;
  void note(std::string text);
  void remind();

  MwaReceiversConfig config_;
  core::VoltageDescription description_;
  core::Instant end_;
  std::vector<std::string> addresses_;
  std::stop_token stop_;
  Waits waits_;
  std::unique_ptr<TcpServer> server_;
  std::vector<Receiver> receivers_;
  // Time of the stream's first sample, by the receivers' clock.
  std::optional<std::int64_t> origin_;
  Clock::time_point origin_at_ = {};  // when that sample had come
  Clock::time_point started_at_ = {}, received_at_ = {};
  WaitReminder reminder_;
  bool behind_ = false;  // records wait in buffers, so they were sent earlier than they are read
  core::Instant start_;  // of the first sample
  // Samples delivered, and samples still to deliver.
  std::uint64_t position_ = 0, left_ = UINT64_MAX;
  std::optional<Clock::time_point> first_placed_, last_left_, first_done_;
  std::int64_t newest_ = 0;  // latest time of any receiver's records
  Clock::time_point newest_at_ = {};
  // Records that came too late, and records before the stream began.
  std::uint64_t late_ = 0, early_ = 0;
  bool ended_ = false;
  formats::Damage damage_;
};

}  // namespace tautline::stream

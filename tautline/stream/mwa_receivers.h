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

namespace tautline::stream {

struct MwaReceiversConfig {
  /// One address for all receivers, which then are numbered as they connect, or one for each.
  std::vector<Endpoint> listen;
  std::size_t receivers = 4;
  formats::mwa32t::Mode mode = formats::mwa32t::Mode::two_byte;
  core::VoltageDescription assumed =
      {};  ///< rate, centre, sideband, start; not given: the instrument's, the clock's
  /// How long the others are waited for when the first receiver has come, and all of them when the last has gone.
  double wait_s = 5;
  /// How long a receiver is waited for that is connected and silent while others go on.
  double late_s = 1;
  double duration_s = -1;  ///< ends after this much; negative: with the receivers
  core::LogSink log = {};
};

/// The stream begins when all receivers have come, or those that came in time, with the first sample that each of them has.
/// A counter says the time but for whole periods of 51.2 ms: receivers have to send by one clock, within a quarter of that
/// of each other. What one sends while others have not come is kept, and passed over when they come. What a receiver does not give while
/// others go on is lost: invalid, and counted. It may come back, and is then placed where its counter is nearest to what
/// the others have sent. Connections are read only as fast as blocks are: what waits in memory is bounded.
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
  std::size_t read(std::size_t samples, core::RawBlock& block, Segment& segment) override;
  formats::Damage damage() const override;
  bool live() const override { return true; }
  std::map<std::string, std::uint64_t> counters() const override;

  /// After start(), with the ports that the system chose.
  std::vector<Endpoint> listening() const { return server_->listening(); }

 private:
  using Clock = std::chrono::steady_clock;
  struct Receiver {
    explicit Receiver(formats::mwa32t::Mode mode) : parser(mode) {}

    formats::mwa32t::RecordParser parser;
    std::size_t filled = 0;  // of the block, with what is lost
    std::uint64_t connections = 0, received_bytes = 0;
    Clock::time_point last_came = {}, placed_at = {};
    bool silent = false;  // and not waited for
    bool noted = false;   // that it has gone
  };

  void receive();
  void note_connections(std::size_t index);
  bool look_for_first(std::size_t index);
  std::int64_t waiting(std::size_t index) const;
  void note_newest(std::size_t index);
  bool is_early(std::size_t index) const;
  std::int64_t samples_since(Clock::time_point since) const;
  void begin_with(std::size_t index);
  bool find_origin();
  void fill(std::size_t index, std::size_t samples, core::RawBlock& block);
  void lose(std::size_t index, std::size_t end, core::RawBlock& block);
  bool is_gone(std::size_t index) const;
  bool all_gone();
  bool is_complete(std::size_t samples);
  std::size_t last_time() const;
  std::size_t close_block(std::size_t produced, core::RawBlock& block, Segment& segment);
  std::int64_t time_near(std::size_t index) const;
  void note(std::string text);

  MwaReceiversConfig config_;
  core::VoltageDescription description_;
  core::Instant end_;
  std::vector<std::string> addresses_;
  std::stop_token stop_;
  Waits waits_;
  std::unique_ptr<TcpServer> server_;
  std::vector<Receiver> receivers_;
  std::optional<std::int64_t>
      origin_;                        // time of the stream's first sample, by the receivers' clock
  Clock::time_point origin_at_ = {};  // when that had come
  bool behind_ = false;               // what is read was sent longer ago than it seems
  core::Instant start_;               // of the first sample
  std::uint64_t position_ = 0, left_ = UINT64_MAX;  // samples given, and those to give
  std::optional<Clock::time_point> first_placed_, last_left_, first_done_;
  std::int64_t newest_ = 0;  // time that any receiver has sent
  Clock::time_point newest_at_ = {};
  std::uint64_t late_ = 0, early_ = 0;  // records: too late, and before the stream began
  bool ended_ = false;
  formats::Damage damage_;
};

}  // namespace tautline::stream

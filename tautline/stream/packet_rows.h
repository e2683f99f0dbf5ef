// Rows [time][channel] of real values that come as packets over UDP: filterbanks, counts. Placed and counted as
// voltages are, by a capture; what did not come is zero, and is told.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "tautline/core/validity.h"
#include "tautline/stream/packet_voltages.h"

namespace tautline::stream {

/// Values of a channel that did not come, at rows [first, end) of the stream.
struct LostRun {
  static constexpr std::size_t kAllChannels = SIZE_MAX;
  std::size_t channel = kAllChannels;
  std::uint64_t first = 0, end = 0;
  bool operator==(const LostRun&) const = default;
};

/// Where and how packets of rows are received.
struct PacketRowsConfig {
  std::string listen;  ///< udp://HOST:PORT
  std::string layout;  ///< a preset's name or a TOML file
  std::string interface = {};
  std::size_t channels = 1;
  core::Rational rate_hz = {};  ///< rows a second
  /// Of the first row: where the layout does not count from a known time, which tells it then.
  core::Instant start = {};
  std::optional<std::uint64_t> first_count =
      {};  ///< of the packet of the first row; none: the first one that comes
  std::size_t window_samples = 0;
  double wait_s = -1, silence_s = -1;
  double longest_gap_s = 60;  ///< that is filled with zeros; a longer one ends the stream
  std::size_t buffer_bytes = std::size_t{64} << 20;
  core::LogSink log = {};
};

class PacketRows {
 public:
  /// Throws Error(config) that names the field that does not fit the layout.
  explicit PacketRows(const PacketRowsConfig& config);

  const std::string& name() const { return voltages_.files().front(); }
  core::SampleFormat format() const { return voltages_.description().format; }
  std::size_t row_bytes() const;
  /// Whether any row has come.
  bool begun() const { return begun_; }
  /// Of row 0, once any has come.
  const core::Instant& start() const { return start_; }

  /// Waits for rows until some are there or `most` is over. False at the end, when all have been taken, and after a
  /// stop inside a gap.
  bool wait(std::chrono::milliseconds most, const std::stop_token& stop);
  /// Takes up to `rows` rows that are there, and adds what did not come of them to `lost`, in order of channels within
  /// blocks in order of time.
  std::size_t take(std::size_t rows, std::span<std::byte> to, std::vector<LostRun>& lost);

  /// lost_samples: rows' worth of values that did not come so far, rounded up. dropped_samples: rows that came behind a
  /// gap that is too long, and with which the stream ends.
  formats::Damage damage() const;
  /// That did not come so far.
  std::uint64_t lost_values() const { return lost_values_; }
  std::map<std::string, std::uint64_t> counters() const { return voltages_.counters(); }

 private:
  void next_block();
  void end_at(std::string fault);
  void copy_rows(std::size_t rows, std::byte* to) const;

  PacketVoltages voltages_;
  std::uint64_t step_;     // counts of a payload
  std::uint64_t payload_;  // rows of a payload
  double longest_gap_s_;
  core::Instant start_;
  std::optional<std::uint64_t> first_count_;  // of row 0, without wraps
  core::RawBlock block_;
  core::ValidityMask valid_;  // of the block; of no rows: all came
  std::size_t used_ = 0;      // rows of the block that were taken
  std::uint64_t row_ = 0;     // of the next one
  std::uint64_t gap_ = 0;     // rows before the block that nobody sent
  std::uint64_t lost_values_ = 0, dropped_rows_ = 0;
  bool begun_ = false, ended_ = false;
  std::string fault_;
};

}  // namespace tautline::stream

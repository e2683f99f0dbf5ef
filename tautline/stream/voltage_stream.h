// Antenna voltages that come in order, a block at a time: from files, or live.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <stop_token>
#include <string>
#include <vector>

#include "tautline/core/voltage.h"
#include "tautline/formats/voltage_reader.h"

namespace tautline::stream {

/// The segment to which a read of a stream belongs: a segment is a part of the data without gaps between files.
struct SegmentPlace {
  std::uint64_t index = 0;   ///< counts segments from 0
  core::Instant start;       ///< of the segment's first sample
  bool first_block = false;  ///< this read begins the segment
};

/// Not thread-safe.
class VoltageStream {
 public:
  virtual ~VoltageStream() = default;

  virtual const core::VoltageDescription& description() const = 0;
  virtual core::RawLayout layout(std::size_t samples) const = 0;
  virtual std::size_t block_bytes(std::size_t samples) const = 0;
  /// Samples (times) to be delivered, as far as it is known; 0 for live streams.
  virtual std::uint64_t total_samples() const = 0;
  /// One after the last sample to be delivered, as far as it is known.
  virtual const core::Instant& end() const = 0;
  /// Files, or addresses.
  virtual const std::vector<std::string>& files() const = 0;

  /// Memory beside the blocks, where it is large.
  virtual std::size_t bytes() const { return 0; }

  /// For live streams, before the first read: begins to listen. Reads end when `stop` is requested. `waits` is called
  /// on the reading thread when a read begins (true) and ends (false) to wait for senders.
  using Waits = std::function<void(bool)>;
  virtual void start(const std::stop_token&, const Waits&) {}
  /// Reads up to `samples` of the next samples; they never straddle two segments. 0 at the end. A
  /// caller must ask for the same number each time: layouts may depend on it.
  virtual std::size_t read(std::size_t samples, core::RawBlock& block, SegmentPlace& segment) = 0;

  /// Damage skipped so far.
  virtual formats::Damage damage() const = 0;
  /// Gaps between files, in samples (times) that were not recorded.
  virtual std::uint64_t gap_samples() const { return 0; }
  /// The same in what was skipped before the first sample to be delivered.
  virtual std::uint64_t skipped_gap_samples() const { return 0; }
  /// Whether a stop ends the stream, so that the samples before it are a whole result.
  virtual bool live() const { return false; }
  /// Counts of live streams, beside the damage.
  virtual std::map<std::string, std::uint64_t> counters() const { return {}; }
  /// Of live streams: what is wrong now, as a sender that is silent.
  virtual std::vector<std::string> problems() const { return {}; }
};

}  // namespace tautline::stream

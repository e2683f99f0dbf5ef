// The Config and the results of files that are played onto the network.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tautline/core/fields.h"
#include "tautline/formats/count_reader.h"
#include "tautline/formats/voltage_reader.h"

namespace tautline::stream {

struct SendConfig {
  /// Over TCP each file of an MWA receiver is a connection, in this order; others, and all over UDP, are one stream, as
  /// `correlate` takes them.
  std::vector<std::string> files;
  /// tcp://HOST:PORT, or udp://HOST:PORT, one for each sender that a layout distinguishes by address. Or one pipe:
  /// "-" (standard output) or the path of a named pipe, which gets the bytes of the file.
  std::vector<std::string> to;
  /// Of records over TCP (empty: mwa32t), or of packets: a preset's name or a TOML file.
  std::string layout = {};
  double rate = 1;             ///< times real time; 0: as fast as the receiver takes it
  double rate_hz = 1'280'000;  ///< of records: samples (times) a second at rate 1
  std::string impair;          ///< parse_impairment()
  double connect_s = 10;       ///< how long to wait for a TCP listener
  std::uint64_t repeat = 1;    ///< how often the files are sent, as one stream
  // Of packets:
  /// Each sends its share from a port of its own, with faults of its own.
  std::uint64_t senders = 1;
  /// This process is this one of them, from 0; none: all.
  std::optional<std::uint64_t> sender;
  /// None: as the layout counts from the files' start, or 0.
  std::optional<std::uint64_t> first_count;
  std::string interface;
  double start_s = 0, duration_s = -1;  ///< of the files
  formats::ReaderOptions reader = {};
  /// Of counts, which these two say that the file holds: seconds a bin, and what a file without a header lacks.
  double bin_s = 0;
  formats::RawCounts raw = {};
};
const core::Fields<SendConfig>& fields(const SendConfig&);

struct SendSummary {
  std::uint64_t records = 0, bytes = 0;  ///< records or packets sent, with duplicates
  /// Records or packets that were impaired on purpose.
  std::uint64_t lost = 0, duplicated = 0, corrupted = 0, reordered = 0;
  std::uint64_t left_out = 0;          ///< packets not sent, as their samples are invalid
  std::uint64_t clipped = 0;           ///< components that did not fit the packets' bits
  std::uint64_t trailing_samples = 0;  ///< times that fill no packet
  double stream_s = 0, elapsed_s = 0;
  double behind_s = 0;  ///< largest delay of a piece behind its time
};

/// Called with the fraction done, now and then.
using SendProgress = std::function<void(double done)>;

}  // namespace tautline::stream

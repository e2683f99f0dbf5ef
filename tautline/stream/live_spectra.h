// Spectra of a filterbank that come while they are read: by a pipe, or in packets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "tautline/formats/filterbank_reader.h"
#include "tautline/stream/packet_rows.h"

namespace tautline::stream {

/// One thread reads from it.
class LiveSpectra {
 public:
  virtual ~LiveSpectra() = default;
  /// `samples` is 0: the length of the stream is unknown.
  virtual const formats::FilterbankDescription& description() const = 0;
  virtual const std::string& name() const = 0;
  /// As a reader's.
  virtual const std::vector<std::string>& remarks() const = 0;
  /// Waits for up to `samples` spectra and writes them as description().delivered says. Fewer at the end of the stream;
  /// after a stop, spectra that have come are still delivered.
  virtual std::size_t read(std::size_t samples, std::span<std::byte> to,
                           const std::stop_token& stop) = 0;
  /// Values of the last read that did not come, and are zero; spectra count from the stream's first.
  virtual std::span<const LostRun> lost() const { return {}; }
  /// Whether values may be lost.
  virtual bool loses() const { return false; }
  /// After the end.
  virtual formats::Damage damage() const = 0;
  /// Of packets.
  virtual std::map<std::string, std::uint64_t> counters() const { return {}; }
};

}  // namespace tautline::stream

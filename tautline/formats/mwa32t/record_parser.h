// Records out of bytes that come once and piece by piece, as from a connection.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tautline/formats/mwa32t/counters.h"

namespace tautline::formats::mwa32t {

/// What a parser read or skipped, in records unless named as bytes.
struct ParserCounts {
  std::uint64_t repeated = 0;       ///< records of times that had come already
  std::uint64_t invalid_bytes = 0;  ///< in which no record was found, or a broken counter
  std::uint64_t jumps = 0;          ///< of the counter
};

/// One sender's records, their counters taken as those of a clock that goes on beyond 16 bits. A counter that does not
/// follow on is believed once kAlignedProof records prove it; until then each record before the proof is judged by its
/// own.
class RecordParser {
 public:
  explicit RecordParser(Mode mode) : mode_(mode), record_(record_bytes(mode)) {}

  /// Records of consecutive times at the front of `bytes`, behind `skip` bytes that are none.
  struct Found {
    std::size_t skip = 0;
    std::int64_t time = 0;  ///< of the first one
    const std::byte* records = nullptr;
    std::size_t count = 0;  ///< 0 and nothing to skip: more bytes are needed
  };

  /// Looks at bytes that begin where the last consumed ones ended. `last`: no more will come of this sender. `near`: a
  /// time from which the first record's is less than half a period away. Nothing is kept of them: after it, the caller
  /// goes on behind `skip` and as many records as it takes.
  Found look(std::span<const std::byte> bytes, bool last, std::int64_t near);
  void take(std::size_t records);

  /// Another sender's bytes follow. Records at times before those that were taken are repeats.
  void restart();

  /// Whether times are known: since the first records of a sender.
  bool placed() const { return placed_; }
  /// Of the next record, when times are known.
  std::int64_t next_time() const { return next_; }
  const ParserCounts& counts() const { return counts_; }

  /// Bytes that look() may need at once.
  static constexpr std::size_t kWindowBytes = std::size_t{64} << 10;

 private:
  Found find_first(std::span<const std::byte> bytes, bool last, std::int64_t near);
  Found find_again(std::span<const std::byte> bytes, bool last);
  Found read_unproved(std::span<const std::byte> bytes);
  Found skip_invalid(std::size_t bytes);
  Found run(std::span<const std::byte> bytes, std::size_t count);

  Mode mode_;
  std::size_t record_;
  bool placed_ = false;
  std::int64_t next_ = 0;           // time of the next record if it follows on
  std::int64_t floor_ = INT64_MIN;  // times before this one have come
  std::size_t unproved_ = 0;        // records before those that prove `proof_`
  std::int64_t proof_ = 0;          // time of the first record behind them
  ParserCounts counts_;
};

}  // namespace tautline::formats::mwa32t

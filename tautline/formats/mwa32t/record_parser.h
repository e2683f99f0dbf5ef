// Finds records in bytes that come once and piece by piece, as from a connection.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "tautline/formats/mwa32t/counters.h"

namespace tautline::formats::mwa32t {

/// What a parser read or skipped, in records unless named as bytes.
struct ParserCounts {
  std::uint64_t repeated = 0;       ///< records of times that had come already
  std::uint64_t invalid_bytes = 0;  ///< in which no record was found, or a broken counter
  std::uint64_t jumps = 0;          ///< of the counter
};

/// The records of one sender; their 16-bit counters are extended to times. A counter that does not follow the one
/// before is accepted once kAlignedProof records with consecutive counters prove it; each record before the proof is
/// judged by its own counter.
class RecordParser {
 public:
  explicit RecordParser(Mode mode) : mode_(mode), record_(record_bytes(mode)) {}

  /// Records of consecutive times at the front of `bytes`, behind `skip` bytes without records.
  struct Found {
    std::size_t skip = 0;
    std::int64_t time = 0;  ///< of the first one
    const std::byte* records = nullptr;
    std::size_t count = 0;  ///< 0 and nothing to skip: more bytes are needed
  };

  /// Looks at bytes that begin where the last consumed bytes ended, and keeps none of them: the caller continues behind
  /// `skip` and as many records as it takes. `last`: the sender sends no more bytes. `near`: a time less than half a
  /// period from the first record's.
  Found look(std::span<const std::byte> bytes, bool last, std::int64_t near);
  void take(std::size_t records);

  /// Another sender's bytes follow. Records at times before those that were taken are repeats.
  void restart();

  /// Whether times are known; true from the first records of a sender on.
  bool placed() const { return placed_; }
  /// The time of the next record, where times are known.
  std::int64_t next_time() const { return next_; }
  const ParserCounts& counts() const { return counts_; }

  /// Bytes that look() may need at once.
  static constexpr std::size_t kWindowBytes = std::size_t{64} << 10;

 private:
  // Where the records begin that prove the alignment. None: `without` is to be returned.
  std::optional<std::size_t> find_proof(std::span<const std::byte> bytes, bool last,
                                        Found& without);
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

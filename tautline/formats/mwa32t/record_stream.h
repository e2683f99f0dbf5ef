// One receiver's file as runs of records whose place in time is known.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tautline/formats/input_file.h"
#include "tautline/formats/mwa32t/counters.h"
#include "tautline/formats/repeated_damage.h"

namespace tautline::formats::mwa32t {

/// Reads forward through a buffer of fixed size, gets past gaps, repeats, broken counters and lost
/// record boundaries, and notes each in a Damage that the reader owns.
class RecordStream {
 public:
  /// Records of consecutive samples. Positions are samples since the file's first record.
  struct Run {
    std::uint64_t position = 0;
    const std::byte* records = nullptr;
    std::size_t count = 0;
  };

  /// Throws Error(io), or Error(format) when the file holds no records of that mode.
  RecordStream(InputFile file, Mode mode, Damage& damage);

  const std::string& path() const { return file_.path(); }
  Mode mode() const { return mode_; }
  std::uint16_t first_counter() const { return first_counter_; }
  /// The stream's length in samples, by the file's size and counters at some places: records between two of them that
  /// are missing count as long as they are fewer than kCounterPeriod. Of bytes that come in order, by the size alone.
  std::uint64_t estimate_end() const;
  /// Adds the damage that these tell: samples that are missing, and an incomplete record at the end.
  void foresee(Damage& damage) const;

  /// The next run, later than every run before it; its bytes stay until the next call. False at the
  /// end.
  bool next(Run& run);

  /// Damage at more places than have messages of their own.
  const RepeatedDamage& repeated() const { return repeated_; }
  /// The damage so far is not counted.
  void forget_repeated() { repeated_.clear(); }

 private:
  std::uint64_t records_end() const;
  void find_first_record(Mode wanted);
  void choose_first_record(std::uint64_t proof);
  bool load(std::size_t bytes);
  std::optional<std::uint64_t> find_proof(std::uint64_t from);
  bool take_consecutive(Run& run);
  bool take_last_before_break(Run& run);
  void drop_until(std::uint64_t proof);
  bool take_unproved(Run& run);
  bool deliver(Run& run);
  void finish();

  /// The first position at or after `least` that the counter can stand for.
  std::uint64_t position_of(std::uint16_t counter, std::uint64_t least) const;
  std::uint16_t expected_counter() const {
    return static_cast<std::uint16_t>(first_counter_ + position_);
  }
  const std::byte* here() const { return buffer_.data() + (offset_ - buffer_offset_); }
  std::uint64_t buffer_end() const { return buffer_offset_ + buffer_.size(); }
  bool buffer_is_last() const { return buffer_end() >= file_.size(); }

  InputFile file_;
  std::size_t buffer_bytes_;
  Damage& damage_;
  RepeatedDamage repeated_;
  Mode mode_ = Mode::detect;
  std::size_t record_ = 0;
  std::uint64_t first_offset_ = 0;
  std::uint16_t first_counter_ = 0;

  std::vector<std::byte> buffer_;  ///< the file from buffer_offset_ on
  std::uint64_t buffer_offset_ = 0;
  std::uint64_t offset_ = 0;     ///< of the next record to look at
  std::uint64_t position_ = 0;   ///< of that record if its counter is the one expected
  std::uint64_t delivered_ = 0;  ///< every position before this one is done with

  /// While offset_ is before proof_offset_, each record is judged by its own counter.
  std::uint64_t proof_offset_ = 0, proof_position_ = 0;
  std::uint64_t searched_from_ = 0;  ///< bytes of a stream that the search for a proof still keeps
  bool stepping_back_ = false;       ///< the last run was a repeat, and has been noted
  bool ended_ = false;
};

}  // namespace tautline::formats::mwa32t

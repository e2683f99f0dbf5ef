// Decodes records to photons, from a file or from a stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tautline/formats/photon_reader.h"
#include "tautline/formats/ptu/record_type.h"

namespace tautline::formats::ptu {

inline constexpr std::size_t kRecordBytes = 4;

/// A clock that steps back by more than half its range has missed an overflow, and is set forward; a smaller step back is
/// a photon out of order, and is left out. Eight or more records in a row whose bits are all 0, or all 1, were never
/// written. Where of 64 records 12 or more are unknown or step back, or one does and the photons are of many more
/// detectors than the header has, none of the 64 is what it says; nor is any of 4,096 of which a quarter is such, or
/// whose others are of so many detectors. Both are left out, as unknown records are, and the time behind them is not
/// known: breaks(). All are counted, and the first ones named.
class RecordDecoder {
 public:
  /// `name` and `offset_bytes` are where the records come from, for messages; `detectors` and `damage` are what the
  /// header already had; 0: not said.
  RecordDecoder(std::string name, const RecordType& type, std::uint64_t offset_bytes,
                std::uint32_t detectors, Damage damage);

  /// Decodes the first `count` of these records and gives their photons, at most one each, as give() does. The other
  /// records are those that follow, kAhead of them where there are so many: they tell whether records at the end were
  /// written. What is left out depends on where calls end: all but the last one end at a multiple of kChunk, or, where a
  /// stream pauses, of kTogether. Before a call, all photons of the one before were given.
  std::size_t decode(std::span<const std::uint32_t> words, std::size_t count,
                     std::span<Photon> photons);
  static constexpr std::size_t kAhead = 7, kTogether = 64, kChunk = 4096;
  /// Photons that were decoded and did not fit so far; returns how many.
  std::size_t give(std::span<Photon> photons);
  /// Behind the last record: names what was found in all.
  void finish();
  const std::vector<TagBreak>& breaks() const { return breaks_; }
  /// Records so far of stretches that were not written over, and those that were.
  std::uint64_t written() const { return counts_.records - state_.blank; }
  std::uint64_t overwritten() const { return state_.overwritten; }
  /// Back to before the first record.
  void rewind();
  const TagCounts& counts() const { return counts_; }
  const Damage& damage() const { return damage_; }
  Damage& damage() { return damage_; }
  const std::string& name() const { return name_; }
  std::uint64_t offset_bytes() const { return offset_bytes_; }

 private:
  enum Fault { kUnknown, kBackwards, kOverflow, kBlank, kOverwritten, kFaults };
  /// What decoding changes beside counts and messages.
  struct State {
    std::uint64_t base = 0;  // the sum of the overflows so far, added to a record's clock
    std::uint64_t blank = 0, blank_places = 0, overwritten = 0;
    std::uint64_t found[kFaults] = {};
    std::uint64_t last_blank = 0;  // record
    bool behind_break = false;
  };
  struct Saved {
    State state;
    TagCounts counts;
    std::uint64_t lost, dropped;
    std::size_t messages, breaks;
  };
  using Words = std::span<const std::uint32_t>;

  template <class Layout>
  std::size_t decode_as(Words words, std::size_t first, std::size_t end, Photon* photons);
  std::size_t decode_part(Words words, std::size_t first, std::size_t end, Photon* photons);
  std::size_t decode_checked(Words words, std::size_t first, std::size_t end, Photon* photons);
  Saved save() const;
  void restore(const Saved& saved);
  std::uint64_t faults_since(const Saved& saved) const;
  bool is_blank(Words words, std::size_t n) const;
  bool too_many(std::uint64_t detectors) const;
  void leave_out(Fault fault, std::uint64_t record, std::uint64_t records);
  void end_break(std::uint64_t last, std::uint64_t time);
  /// Handles a tag that is earlier than the last one: true when the clock was set forward.
  bool step_back(std::uint64_t record, std::uint64_t time);
  void unknown(std::uint64_t record, std::uint32_t word);
  void note(Fault fault, std::uint64_t record, const std::string& what, const std::string& found,
            const std::string& expected);

  std::string name_;
  const RecordType* type_;
  std::uint64_t offset_bytes_;
  std::uint32_t detectors_;
  std::uint64_t seen_ = 0;  // detectors of the photons decoded last, a bit each
  Damage header_damage_, damage_;
  TagCounts counts_;
  State state_;
  std::vector<TagBreak> breaks_;
  std::uint32_t last_word_ = 0;  // of the records so far, and how many equal ones they end with
  std::size_t last_equal_ = 0;
  std::vector<Photon> waiting_;  // to be given, from given_ on
  std::size_t given_ = 0;
};

}  // namespace tautline::formats::ptu

// Decodes records to photons, from a file or from a stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "tautline/formats/photon_reader.h"
#include "tautline/formats/ptu/record_type.h"

namespace tautline::formats::ptu {

inline constexpr std::size_t kRecordBytes = 4;

/// A clock that steps back by more than half its range has missed an overflow, and is set forward; a
/// smaller step back is a photon out of order, and is left out. Both are named with the record and
/// counted.
class RecordDecoder {
 public:
  /// `name` and `offset_bytes` are where the records come from, for messages; `damage` is what the
  /// header already had.
  RecordDecoder(std::string name, const RecordType& type, std::uint64_t offset_bytes,
                Damage damage);

  /// The photons of these records, at most one each; returns how many.
  std::size_t decode(std::span<const std::uint32_t> words, Photon* photons);
  /// Back to before the first record.
  void rewind();
  const TagCounts& counts() const { return counts_; }
  const Damage& damage() const { return damage_; }
  Damage& damage() { return damage_; }
  const std::string& name() const { return name_; }
  std::uint64_t offset_bytes() const { return offset_bytes_; }

 private:
  template <class Layout>
  std::size_t decode_as(std::span<const std::uint32_t> words, Photon* photons);
  /// Handles a tag that is earlier than the last one: true when the clock was set forward.
  bool step_back(std::uint64_t record, std::uint64_t time);
  void unknown(std::uint64_t record, std::uint32_t word);
  void note(std::uint64_t record, const std::string& what, const std::string& found,
            const std::string& expected);

  std::string name_;
  const RecordType* type_;
  std::uint64_t offset_bytes_;
  Damage header_damage_, damage_;
  TagCounts counts_;
  std::uint64_t base_ = 0;  // the sum of the overflows so far, added to a record's clock
};

}  // namespace tautline::formats::ptu

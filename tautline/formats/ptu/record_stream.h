// Records of one file, decoded to photons block by block. Shared by the PTU and PT3 readers.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tautline/formats/input_file.h"
#include "tautline/formats/photon_reader.h"
#include "tautline/formats/ptu/record_type.h"

namespace tautline::formats::ptu {

/// Reads `description.records` records of `type` that start at `offset_bytes`. A clock that steps
/// back by more than half its range has missed an overflow, and is set forward; a smaller step back
/// is a photon out of order, and is left out. Both are named with the record and counted.
class RecordStream : public PhotonReader {
 public:
  /// `damage` is what the header already had.
  RecordStream(InputFile file, PhotonDescription description, const RecordType& type,
               std::uint64_t offset_bytes, Damage damage);

  const PhotonDescription& description() const override { return description_; }
  std::size_t read(std::span<Photon> photons) override;
  void rewind() override;
  const TagCounts& counts() const override { return counts_; }
  const Damage& damage() const override { return damage_; }

 private:
  template <class Layout>
  std::size_t decode(std::span<const std::uint32_t> words, Photon* photons);
  std::size_t decode_any(std::span<const std::uint32_t> words, Photon* photons);
  /// What to do with a tag before the last one: true when the clock was set forward.
  bool step_back(std::uint64_t record, std::uint64_t time);
  void unknown(std::uint64_t record, std::uint32_t word);
  void note(std::uint64_t record, const std::string& what, const std::string& found,
            const std::string& expected);

  InputFile file_;
  PhotonDescription description_;
  const RecordType* type_;
  std::uint64_t offset_bytes_;
  Damage header_damage_, damage_;
  TagCounts counts_;
  std::uint64_t base_ = 0;  // what the overflows so far add to a record's clock
  std::vector<std::uint32_t> words_;
};

/// Records in the file behind `offset_bytes`, at most `stated` (0: as many as there are); missing
/// and spare bytes are noted.
std::uint64_t count_records(const InputFile& file, std::uint64_t offset_bytes, std::uint64_t stated,
                            Damage& damage);

}  // namespace tautline::formats::ptu

// Records of one file, decoded to photons block by block. Shared by the PTU and PT3 readers.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "tautline/formats/input_file.h"
#include "tautline/formats/photon_reader.h"
#include "tautline/formats/ptu/record_decoder.h"
#include "tautline/formats/ptu/record_type.h"
#include "tautline/formats/ptu/tag_header.h"

namespace tautline::formats::ptu {

/// Reads `description.records` records of `type` that start at `offset_bytes`.
class RecordStream : public PhotonReader {
 public:
  /// `damage` is the damage of the header.
  RecordStream(InputFile file, PhotonDescription description, const RecordType& type,
               std::uint64_t offset_bytes, Damage damage);

  const PhotonDescription& description() const override { return description_; }
  /// Throws Error(format) at the end where hardly any record is one of `type`.
  std::size_t read(std::span<Photon> photons) override;
  void rewind() override { decoder_.rewind(); }
  const TagCounts& counts() const override { return decoder_.counts(); }
  const Damage& damage() const override { return decoder_.damage(); }
  std::span<const TagBreak> breaks() const override { return decoder_.breaks(); }

 private:
  void check_length();
  void require_tags() const;

  InputFile file_;
  PhotonDescription description_;
  RecordDecoder decoder_;
  std::vector<std::uint32_t> words_;
};

/// A file whose header `read_header` reads.
std::unique_ptr<PhotonReader> open_records(
    InputFile file, const std::function<TagHeader(const HeaderSource&)>& read_header);

/// Records in the file behind `offset_bytes`, at most `stated` (0: as many as there are); missing
/// and spare bytes are noted.
std::uint64_t count_records(const InputFile& file, std::uint64_t offset_bytes, std::uint64_t stated,
                            Damage& damage);

}  // namespace tautline::formats::ptu

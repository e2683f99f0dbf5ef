// Photons to 32-bit records, with the overflow records that their gaps need.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tautline/formats/photon_reader.h"
#include "tautline/formats/ptu/record_type.h"

namespace tautline::formats::ptu {

class RecordEncoder {
 public:
  explicit RecordEncoder(const RecordType& type) : type_(&type) {}

  /// Appends the records of photons, whose times do not decrease. Throws Error(config) when a
  /// channel or microtime does not fit the type, or a photon is earlier than the one before.
  void append(std::span<const Photon> photons, std::vector<std::uint32_t>& records);

 private:
  void append_overflows(std::uint64_t count, std::vector<std::uint32_t>& records) const;
  std::uint32_t photon_record(const Photon& photon, std::uint32_t clock) const;

  const RecordType* type_;
  std::uint64_t base_ = 0, last_ = 0;
};

}  // namespace tautline::formats::ptu

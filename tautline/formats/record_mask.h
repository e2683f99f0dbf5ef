// Invalid and missing samples of a file of voltages whose format cannot mark them, from the record that was written
// with the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "tautline/core/voltage.h"
#include "tautline/formats/voltage_reader.h"

namespace tautline::formats {

class RecordMask {
 public:
  /// None.
  RecordMask() = default;
  /// The samples that the record beside a file of `samples` times lists, where it is of `buffer`, `voltage_record` or
  /// `channelize`. Other records are ignored; a record of a shorter file is ignored and noted as damage. Throws
  /// Error(format) on a record that contradicts itself.
  RecordMask(const nlohmann::json& record, const std::string& path, std::uint64_t samples,
             std::size_t inputs, Damage& damage);

  /// Appends the listed samples of a block to block.invalid and returns how many of them are lost (times x inputs):
  /// none of spectra of which inputs did not change for a while. Blocks come in the order of time.
  std::uint64_t mark(core::RawBlock& block);

 private:
  struct Span {
    std::size_t input;
    std::uint64_t first, end;
  };

  std::vector<Span> spans_;  // in the order of their first samples
  std::size_t next_ = 0;     // behind those that have begun
  std::vector<Span> open_;   // that have begun and not ended
  bool lost_ = true;
};

}  // namespace tautline::formats

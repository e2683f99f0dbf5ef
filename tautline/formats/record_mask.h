// Invalid and missing samples of a file of voltages that cannot say so itself, from the record that was written with
// it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tautline/core/voltage.h"
#include "tautline/formats/voltage_reader.h"

namespace tautline::formats {

class RecordMask {
 public:
  /// None.
  RecordMask() = default;
  /// Of a file of `samples` times: what PATH.json lists where it is a record of `buffer` or `voltage_record`. Another
  /// record is left alone; one of a shorter file is, too, and noted as damage. Throws Error(format) on one that
  /// contradicts itself.
  RecordMask(const std::string& path, std::uint64_t samples, std::size_t inputs, Damage& damage);

  /// Appends what is listed of a block's samples to block.invalid; returns how many samples (times x inputs) that is.
  /// Blocks come in the order of time.
  std::uint64_t mark(core::RawBlock& block);

 private:
  struct Span {
    std::size_t input;
    std::uint64_t first, end;
  };

  std::vector<Span> spans_;  // in the order of their first samples
  std::size_t next_ = 0;     // behind those that have begun
  std::vector<Span> open_;   // that have begun and not ended
};

}  // namespace tautline::formats

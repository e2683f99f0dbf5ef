// Writes one receiver's file.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tautline/core/complex_int.h"
#include "tautline/formats/mwa32t/mwa32t.h"
#include "tautline/formats/partial_file.h"

namespace tautline::formats::mwa32t {

/// Largest magnitude that the writer puts into a sample: clipping is symmetric.
constexpr int sample_limit(Mode mode) {
  return mode == Mode::one_byte ? 7 : 15;
}

/// Writes beside the final name and renames on finish(). Failures are Error(io) with the path.
class Writer {
 public:
  Writer(const std::string& path, Mode mode, std::uint16_t first_counter = 0,
         bool overwrite = false);

  /// Appends samples [time][16 inputs], which must be whole times. Parts outside what the mode can
  /// hold (-16..15 or -8..7) are clipped to +-sample_limit and counted.
  void write(std::span<const core::ci8> samples);
  /// Leaves a gap: the counter advances, nothing is written.
  void skip(std::uint64_t samples) { counter_ = static_cast<std::uint16_t>(counter_ + samples); }
  void finish() { file_.finish(); }

  std::uint64_t clipped() const { return clipped_; }

 private:
  PartialFile file_;
  Mode mode_;
  std::uint16_t counter_;
  std::vector<std::byte> buffer_;
  std::uint64_t clipped_ = 0;
};

}  // namespace tautline::formats::mwa32t

// Writes one receiver's file.
#pragma once

#include <cstdint>
#include <fstream>
#include <span>
#include <string>
#include <vector>

#include "tautline/core/complex_int.h"
#include "tautline/formats/mwa32t/mwa32t.h"

namespace tautline::formats::mwa32t {

/// Largest magnitude that the writer puts into a sample: clipping is symmetric.
constexpr int sample_limit(Mode mode) {
  return mode == Mode::one_byte ? 7 : 15;
}

/// Writes to "PATH.partial" and renames on finish(); destroyed before that, it removes what it
/// wrote. Failures are Error(io) with the path.
class Writer {
 public:
  Writer(std::string path, Mode mode, std::uint16_t first_counter = 0, bool overwrite = false);
  ~Writer();
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  /// Appends samples [time][16 inputs], which must be whole times. Parts outside what the mode can
  /// hold (-16..15 or -8..7) are clipped to +-sample_limit and counted.
  void write(std::span<const core::ci8> samples);
  /// Leaves a gap: the counter goes on, nothing is written.
  void skip(std::uint64_t samples) { counter_ = static_cast<std::uint16_t>(counter_ + samples); }
  void finish();

  std::uint64_t clipped() const { return clipped_; }

 private:
  std::string path_, partial_;
  Mode mode_;
  std::uint16_t counter_;
  std::ofstream file_;
  std::vector<char> buffer_;
  std::uint64_t clipped_ = 0;
  bool finished_ = false;
};

}  // namespace tautline::formats::mwa32t

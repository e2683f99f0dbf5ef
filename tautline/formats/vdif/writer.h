// VDIF files: a thread for each polarisation of a station, which is an antenna. Docs: docs/guide/formats.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tautline/core/voltage.h"
#include "tautline/formats/partial_file.h"
#include "tautline/formats/vdif/header.h"

namespace tautline::formats::vdif {

/// Writes PATH.partial and renames it on finish(); destroyed before that, it leaves nothing. A second is a whole number
/// of frames: a frame that begins before the first sample, or ends behind the last, is padded with zeros and marked
/// invalid, as is every frame with an invalid sample. Every failure of the system is Error(io).
class Writer {
 public:
  /// Throws Error(config) or Error(unsupported) for what VDIF cannot hold: floats, samples of 1 and 2 bits, a rate that
  /// is no whole number of Hz, or a number of channels that is no power of two.
  Writer(const std::string& path, const core::VoltageDescription& description, bool overwrite);

  /// Samples (times) of a frame: the largest number that fits 8,000 bytes and divides a second.
  static std::size_t frame_samples(const core::VoltageDescription& description);

  /// Appends whole times of [channel][antenna][polarisation], packed as the description's format says.
  void write(std::span<const std::byte> times);
  /// Marks times that have not been written yet; the span counts from the first sample.
  void mark_invalid(const core::InvalidSpan& span);
  /// Zeros before the first sample.
  std::size_t padding() const { return padding_; }
  void finish();

 private:
  struct Invalid {
    std::size_t input = 0;
    std::uint64_t first = 0, end = 0;
  };
  void write_frames();
  void write_frame(std::size_t antenna, std::size_t polarisation);
  bool is_valid(std::size_t input, std::uint64_t first, std::uint64_t end) const;

  core::VoltageDescription description_;
  std::size_t samples_, time_bytes_;
  std::int64_t rate_hz_;
  Header header_;                   // of the next frame
  std::int64_t second_ = 0;         // since the epoch, of the file's first frame
  std::uint64_t frame_number_ = 0;  // of that, in the second; then counts on
  std::size_t padding_ = 0;
  std::uint64_t begun_ = 0;       // times in frames that were written, with padding
  std::vector<std::byte> times_;  // of the frame at hand
  std::vector<std::byte> frame_;
  std::vector<Invalid> invalid_;  // [times with padding)
  PartialFile file_;
};

}  // namespace tautline::formats::vdif

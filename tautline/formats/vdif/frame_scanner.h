// The frames of a file in their order; damaged headers and lost frame boundaries are passed over.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "tautline/formats/input_file.h"
#include "tautline/formats/vdif/header.h"
#include "tautline/formats/voltage_reader.h"

namespace tautline::formats::vdif {

struct Frame {
  Header header;
  std::uint64_t offset = 0;       ///< of the header in the file
  std::size_t payload_bytes = 0;  ///< in the file: fewer than the header says only at its end
};

/// Reads headers only; the caller reads the payloads. All headers must agree with the first one.
class FrameScanner {
 public:
  /// `damage` may be null: then nothing is noted or counted (a look ahead).
  FrameScanner(const InputFile& file, const Header& first, Damage* damage);

  /// The next frame, or none at the end.
  std::optional<Frame> next();
  /// Continues at a byte that starts a frame.
  void jump(std::uint64_t offset) { offset_ = offset; }
  /// The header at an offset when it is one of this recording's.
  std::optional<Header> header_at(std::uint64_t offset) const;

 private:
  std::optional<Header> read_header(std::uint64_t offset) const;
  std::optional<std::uint64_t> find_header(std::uint64_t from, std::uint64_t boundary) const;
  bool confirmed(std::uint64_t offset) const;
  bool boundary_lost();
  bool resume();
  void finish();

  static constexpr std::size_t kLengthBytes = 3;

  const InputFile& file_;
  Header first_;
  std::array<std::byte, kLengthBytes> length_bytes_{};  ///< as in every header
  Damage* damage_;
  std::uint64_t offset_ = 0;
  bool ended_ = false;
  // The last result of header_at(): a header is looked at behind the frame before it, and then again.
  mutable std::uint64_t looked_at_ = ~std::uint64_t{0};
  mutable std::optional<Header> header_there_;
};

}  // namespace tautline::formats::vdif

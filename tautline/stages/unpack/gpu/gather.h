// The bytes of a block that the unpacked channels need. Only these are sent to a device: pieces of
// the block are copied one behind the other, in their order.
#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <span>

#include "tautline/core/voltage.h"
#include "tautline/stages/unpack/unpack.h"

namespace tautline::stages::unpack {

class Gather {
 public:
  explicit Gather(const Config& config);

  /// The layout of the gathered bytes.
  const core::RawLayout& layout() const { return layout_; }
  /// The first byte of the block that is copied.
  std::size_t first_byte() const { return first_byte_; }
  /// Gathered bytes of `samples` times, with gaps.
  std::size_t bytes(std::size_t samples) const;
  /// Number of pieces of `samples` times, and bytes of each.
  std::size_t pieces(std::size_t samples) const;
  std::size_t piece_bytes(std::size_t samples) const;
  /// Copies pieces [first, last) of `samples` times from the block's bytes to the gathered ones.
  void copy(std::span<const std::byte> block, std::byte* gathered, std::size_t samples,
            std::size_t first, std::size_t last) const;

 private:
  // One axis of the pieces; the fastest is the first.
  struct Loop {
    std::size_t count = 0, from_bytes = 0, to_bytes = 0;
    bool time = false;
    std::size_t count_of(std::size_t samples) const { return time ? samples : count; }
  };

  core::RawLayout layout_;
  std::size_t max_samples_ = 0;
  std::size_t first_byte_ = 0;     // first byte of the block that is needed
  std::size_t piece_bits_ = 0;     // of max_samples_ times, from a piece's first byte
  std::size_t time_in_piece_ = 0;  // bits between times within a piece; 0: a piece has one time
  std::array<Loop, 4> loops_;
  std::size_t loops_count_ = 0;
};

}  // namespace tautline::stages::unpack

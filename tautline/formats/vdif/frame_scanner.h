// The frames of a file in their order; damaged headers and lost frame boundaries are passed over.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "tautline/formats/input_file.h"
#include "tautline/formats/repeated_damage.h"
#include "tautline/formats/vdif/header.h"
#include "tautline/formats/voltage_reader.h"

namespace tautline::formats::vdif {

struct Frame {
  Header header;
  std::uint64_t offset = 0;       ///< of the header in the file
  std::size_t payload_bytes = 0;  ///< in the file: fewer than the header says only at its end
};

/// Reads headers only; the caller reads the payloads. All headers must agree with the one that is `common`.
class FrameScanner {
 public:
  /// `damage` may be null: then nothing is noted or counted (a look ahead, of a stream as far as bytes can be kept).
  FrameScanner(const InputFile& file, const Header& common, Damage* damage);

  /// The next frame, or none: at the end, and of a stream where the search for a header goes on once bytes before
  /// offset() were forgotten.
  std::optional<Frame> next();
  /// Continues at a byte that starts a frame.
  void jump(std::uint64_t offset) { offset_ = offset; }
  /// Whether damage is passed over without being noted or counted.
  void set_silent(bool silent) { silent_ = silent; }
  /// Damage at more places than have messages of their own.
  const RepeatedDamage& repeated() const { return repeated_; }
  /// Where the next frame is looked for.
  std::uint64_t offset() const { return offset_; }
  /// The header at an offset when it is one of this recording's.
  std::optional<Header> header_at(std::uint64_t offset) const;

 private:
  std::optional<Header> read_header(std::uint64_t offset) const;
  std::optional<std::uint64_t> find_header(std::uint64_t from, std::uint64_t boundary);
  bool confirmed(std::uint64_t offset) const;
  bool out_of_reach(std::uint64_t offset) const;
  bool no_room_to_search(std::uint64_t from) const;
  bool counts() const { return damage_ != nullptr && !silent_; }
  bool boundary_lost();
  bool resume();
  void finish();

  static constexpr std::size_t kLengthBytes = 3;

  const InputFile& file_;
  Header common_;
  std::array<std::byte, kLengthBytes> length_bytes_{};  ///< as in every header
  Damage* damage_;
  RepeatedDamage repeated_;
  std::uint64_t offset_ = 0;
  bool ended_ = false, silent_ = false;
  std::optional<std::uint64_t> damaged_,  ///< a header whose successor is being looked for
      stopped_at_;                        ///< the last search, for want of room
  // The last result of header_at(): a header is looked at behind the frame before it, and then again.
  mutable std::uint64_t looked_at_ = ~std::uint64_t{0};
  mutable std::optional<Header> header_there_;
};

}  // namespace tautline::formats::vdif

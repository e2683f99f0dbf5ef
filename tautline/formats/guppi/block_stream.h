// The blocks of a file, each with its place in time; lost and damaged blocks are passed over.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tautline/formats/guppi/geometry.h"
#include "tautline/formats/guppi/header_change.h"
#include "tautline/formats/voltage_reader.h"

namespace tautline::formats::guppi {

struct FileBlock {
  std::uint64_t data_offset = 0;
  std::uint64_t position = 0;  ///< of its first sample since the first block's
  std::uint64_t samples = 0;   ///< that are whole and not repeated by the next block
};

/// Reads headers only. Notes dropped blocks; the reader notes gaps before a block.
class BlockStream {
 public:
  BlockStream(const InputFile& file, const Cards& first, const Geometry& geometry,
              std::optional<PacketUnit> unit, Damage& damage);

  /// The next block, later than every one before it; none at the end. Throws Error(format) where the headers from a
  /// block on have another layout, frequency, rate or date, or PKTIDX begins again.
  std::optional<FileBlock> next();
  /// The end of the stream according to the file's last header, where one is at the expected place.
  std::uint64_t estimate_end() const;
  /// Before the second block is asked for: adds the damage from the file's last header on, and the samples that are
  /// missing before it. Nothing where no such header is at the expected place, or the bytes come in order.
  void foresee(Damage& damage) const;
  /// Of a file: throws the error of next() for the blocks up to a sample, as far as some of their headers tell.
  void require_unchanged_until(std::uint64_t sample) const;

 private:
  /// The same blocks, with their damage told elsewhere.
  BlockStream(const BlockStream& other, Damage& damage);
  std::optional<Cards> header_at(std::uint64_t offset) const;
  std::optional<Cards> any_header_at(std::uint64_t offset) const;
  void require_same_layout(std::uint64_t offset) const;
  std::optional<HeaderChange> change_in(const Cards& cards) const;
  bool changed_alone(const Cards& cards) const;
  void require_onward(const Cards& cards, std::int64_t last_index) const;
  std::optional<FileBlock> last_block() const;
  std::optional<std::uint64_t> find_header(std::uint64_t from, bool forgets) const;
  std::uint64_t limit() const;
  std::optional<std::uint64_t> position_of(const Cards& cards) const;
  std::optional<std::uint64_t> place(const Cards& cards);
  bool boundary_lost(const Cards& cards);
  void resume();
  void finish();
  std::uint64_t whole_times(std::uint64_t data_offset) const;
  void note_cut(const FileBlock& block);
  void drop(const Cards& cards, const std::string& keyword, const std::string& message);

  const InputFile& file_;
  Cards first_;
  Geometry geometry_;
  std::optional<PacketUnit> unit_;
  Damage& damage_;
  std::string first_keyword_;  ///< the first card's first bytes, which every header starts with
  std::uint64_t first_index_ = 0;
  std::int64_t last_index_ = 0;  ///< of the last block that was not dropped
  std::uint64_t stride_ = 0;     ///< from the first header to where the second should be
  std::uint64_t offset_ = 0;
  std::uint64_t expected_ = 0;  ///< position of the next block when none is missing
  bool ended_ = false;
};

}  // namespace tautline::formats::guppi

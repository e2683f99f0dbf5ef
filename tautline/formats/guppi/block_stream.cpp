#include "tautline/formats/guppi/block_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string_view>
#include <vector>

#include "tautline/core/counted.h"
#include "tautline/formats/text.h"

namespace tautline::formats::guppi {

namespace {

constexpr std::size_t kSearchBytes = std::size_t{1} << 20;
constexpr std::size_t kKeywordAndEqualsBytes = 9;  // with the equals sign

/// Positions may be at most this many times the number of blocks in the file: where more were missing, the headers are
/// taken for damaged, so that the work stays in proportion to the file.
constexpr std::uint64_t kMaxTimesLonger = 16;
/// For a stream, whose end is not known: how far positions may be beyond the blocks that have come.
constexpr std::uint64_t kBlocksOfAStream = 256;

}  // namespace

BlockStream::BlockStream(const InputFile& file, const Cards& first, const Geometry& geometry,
                         std::optional<PacketUnit> unit, Damage& damage)
    : file_(file),
      first_(first),
      geometry_(geometry),
      unit_(unit),
      damage_(damage),
      stride_(first.bytes() + geometry.data_bytes) {
  std::byte start[kKeywordAndEqualsBytes] = {};
  file.read(0, start);
  first_keyword_.assign(reinterpret_cast<const char*>(start), kKeywordAndEqualsBytes);
  if (unit_) first_index_ = static_cast<std::uint64_t>(first.integer("PKTIDX", 0, kMaxPacketIndex));
}

BlockStream::BlockStream(const BlockStream& other, Damage& damage)
    : file_(other.file_),
      first_(other.first_),
      geometry_(other.geometry_),
      unit_(other.unit_),
      damage_(damage),
      first_keyword_(other.first_keyword_),
      first_index_(other.first_index_),
      stride_(other.stride_) {}

// Positions at and beyond this one are taken for damage.
std::uint64_t BlockStream::limit() const {
  const std::uint64_t blocks =
      file_.in_order() ? offset_ / stride_ + kBlocksOfAStream : file_.size() / stride_ + 2;
  return kMaxTimesLonger * blocks * geometry_.new_times();
}

// The header at an offset when it is one of this recording's.
std::optional<Cards> BlockStream::header_at(std::uint64_t offset) const {
  auto cards = Cards::read(file_, offset);
  if (!cards) return std::nullopt;
  try {
    if (read_geometry(*cards) != geometry_) return std::nullopt;
    if (unit_) (void)cards->integer("PKTIDX", 0, kMaxPacketIndex);
  } catch (const core::Error&) {
    return std::nullopt;
  }
  return cards;
}

// One of any recording.
std::optional<Cards> BlockStream::any_header_at(std::uint64_t offset) const {
  auto cards = Cards::read(file_, offset);
  return cards && cards->has("BLOCSIZE") ? cards : std::nullopt;
}

// Another layout is a change, not damage, where the block's length leads to another header that has it, or to the end.
void BlockStream::require_same_layout(std::uint64_t offset) const {
  const auto cards = any_header_at(offset);
  if (!cards) return;
  try {
    const Geometry other = read_geometry(*cards);
    if (other == geometry_) return;
    const std::uint64_t following = offset + cards->bytes() + other.data_bytes;
    if (file_.in_order() && following >= file_.reach()) return;
    const auto next = any_header_at(following);
    if (next ? read_geometry(*next) != other : following != file_.size()) return;
  } catch (const core::Error&) {
    return;
  }
  if (const auto change = layout_change(first_, *cards))
    throw change_error(file_.path(), *cards, *change);
}

std::optional<HeaderChange> BlockStream::change_in(const Cards& cards) const {
  const std::uint64_t position =
      unit_ ? position_of(cards).value_or(0) : cards.offset() / stride_ * geometry_.new_times();
  double tbin_s = std::numeric_limits<double>::quiet_NaN();
  if (first_.has("TBIN")) tbin_s = finite_number(first_.text("TBIN")).value_or(tbin_s);
  return setting_change(first_, cards, static_cast<double>(position) * tbin_s);
}

// Whether this header alone has another frequency, rate or date. Where the next one has, too, it is an error.
bool BlockStream::changed_alone(const Cards& cards) const {
  const auto change = change_in(cards);
  if (!change) return false;
  const auto next = header_at(cards.offset() + cards.bytes() + geometry_.data_bytes);
  if (!next) return true;
  if (const auto following = change_in(*next); following && following->keyword == change->keyword)
    throw change_error(file_.path(), cards, *change);
  return true;
}

// A block again with the first one's PKTIDX, or a lower one, from which the next goes on: another scan.
void BlockStream::require_onward(const Cards& cards, std::int64_t last_index) const {
  const auto next = header_at(cards.offset() + cards.bytes() + geometry_.data_bytes);
  if (!next) return;
  const std::int64_t index = cards.integer("PKTIDX", 0, kMaxPacketIndex),
                     following = next->integer("PKTIDX", 0, kMaxPacketIndex);
  if (static_cast<std::uint64_t>(index) > first_index_ || following <= index ||
      unit_->samples(static_cast<std::uint64_t>(following - index)) != geometry_.new_times())
    return;
  throw change_error(file_.path(), cards,
                     {"PKTIDX", std::to_string(index), std::to_string(last_index)},
                     " or more, as of the block before it");
}

// `forgets`: nothing before the header will be read, so that a stream is searched to its end; else only as far as its
// bytes can be kept.
std::optional<std::uint64_t> BlockStream::find_header(std::uint64_t from, bool forgets) const {
  std::vector<char> window(kSearchBytes);
  for (std::uint64_t start = from; start + kCardBytes <= file_.size();) {
    if (forgets) file_.forget(start);
    if (start >= file_.reach()) return std::nullopt;
    const auto some =
        static_cast<std::size_t>(std::min<std::uint64_t>(kSearchBytes, file_.reach() - start));
    const std::size_t got =
        file_.read(start, std::as_writable_bytes(std::span(window).first(some)));
    if (got < kKeywordAndEqualsBytes) return std::nullopt;
    const std::string_view text(window.data(), got);
    for (std::size_t k = text.find(first_keyword_); k != std::string_view::npos;
         k = text.find(first_keyword_, k + 1))
      if (header_at(start + k)) return start + k;
    start += got - kKeywordAndEqualsBytes + 1;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> BlockStream::position_of(const Cards& cards) const {
  const auto index = static_cast<std::uint64_t>(cards.integer("PKTIDX", 0, kMaxPacketIndex));
  if (index < first_index_) return std::nullopt;
  const std::uint64_t position = unit_->samples(index - first_index_);
  return position < limit() ? std::optional(position) : std::nullopt;
}

std::uint64_t BlockStream::whole_times(std::uint64_t data_offset) const {
  const std::uint64_t left = file_.size() - std::min(file_.size(), data_offset);
  if (left >= geometry_.data_bytes) return geometry_.times();
  // Times are whole as far as the last row reaches.
  const std::uint64_t before = (geometry_.rows() - 1) * geometry_.row_bytes();
  return left > before ? (left - before) * 8 / geometry_.time_bits() : 0;
}

std::optional<FileBlock> BlockStream::next() {
  while (!ended_) {
    file_.forget(offset_);
    const auto cards = header_at(offset_);
    if (!cards) {
      require_same_layout(offset_);
      resume();
      continue;
    }
    if (boundary_lost(*cards)) continue;
    if (changed_alone(*cards)) {
      const HeaderChange change = *change_in(*cards);
      drop(
          *cards, change.keyword,
          fmt::format("{}, unlike the {} of the headers before and behind it; the block is dropped",
                      change.found, change.expected));
      offset_ += cards->bytes() + geometry_.data_bytes;
      if (!unit_) expected_ += geometry_.new_times();
      continue;
    }
    const auto position = place(*cards);
    offset_ += cards->bytes() + geometry_.data_bytes;
    if (!position) continue;
    FileBlock block{cards->offset() + cards->bytes(), *position, 0};
    const std::uint64_t whole = whole_times(block.data_offset);
    block.samples = std::min(whole, geometry_.new_times());
    if (whole < geometry_.times()) note_cut(block);
    expected_ = block.position + geometry_.new_times();
    if (block.samples > 0) return block;
  }
  return std::nullopt;
}

// The time of a block, or none when the block must be dropped. A PKTIDX that does not follow the
// one before counts when the next block's confirms it.
std::optional<std::uint64_t> BlockStream::place(const Cards& cards) {
  if (!unit_) return expected_;
  const auto position = position_of(cards);
  if (position == expected_) {
    last_index_ = cards.integer("PKTIDX", 0, kMaxPacketIndex);
    return position;
  }
  const auto next = header_at(cards.offset() + cards.bytes() + geometry_.data_bytes);
  std::optional<std::uint64_t> following;
  if (next) following = position_of(*next);
  const std::uint64_t step = geometry_.new_times();
  const std::string found = cards.text("PKTIDX");
  if (cards.offset() > 0) require_onward(cards, last_index_);
  if (following && *following == expected_ + step) {
    damage_.note(
        fmt::format("{}: PKTIDX in the header at byte {}: {}, unlike its neighbours'; the "
                    "block is taken to follow the one before",
                    file_.path(), cards.offset(), found));
    return expected_;
  }
  if (!position || (*position > expected_ && following && *following <= *position)) {
    drop(cards, "PKTIDX", fmt::format("{}, unlike its neighbours'; the block is dropped", found));
    return std::nullopt;
  }
  if (*position < expected_) {
    drop(cards, "PKTIDX", fmt::format("{} again or going back; the block is dropped", found));
    return std::nullopt;
  }
  last_index_ = cards.integer("PKTIDX", 0, kMaxPacketIndex);
  return position;
}

void BlockStream::drop(const Cards& cards, const std::string& keyword, const std::string& message) {
  damage_.dropped_samples += geometry_.block_samples();
  damage_.note(fmt::format("{}: {} in the header at byte {}: {}", file_.path(), keyword,
                           cards.offset(), message));
}

// Returns true, and moves on to the next header, when that header is not where it should be but is found elsewhere: the
// block lacks bytes or has too many.
bool BlockStream::boundary_lost(const Cards& cards) {
  const std::uint64_t data = cards.offset() + cards.bytes();
  const std::uint64_t following = data + geometry_.data_bytes;
  // The end of a stream is known only after a read beyond it.
  if (following >= file_.size() || any_header_at(following) || following >= file_.size())
    return false;
  const auto found = find_header(data, false);
  if (!found || (*found >= following && (*found - following) % stride_ == 0)) return false;
  damage_.dropped_samples += geometry_.block_samples();
  damage_.note(
      fmt::format("{}: block at byte {}: {} bytes to the next header, expected {}; the "
                  "block is dropped",
                  file_.path(), data, *found - data, geometry_.data_bytes));
  offset_ = *found;
  if (!unit_) expected_ += geometry_.new_times();
  return true;
}

// Moves from a damaged header to the next good one.
void BlockStream::resume() {
  const auto found = offset_ + kCardBytes <= file_.size() ? find_header(offset_, true)
                                                          : std::optional<std::uint64_t>{};
  if (!found) {
    finish();
    return;
  }
  const std::uint64_t blocks = (*found - offset_) / stride_;
  damage_.dropped_samples += blocks * geometry_.block_samples();
  damage_.note(
      fmt::format("{}: header at byte {}: unreadable or unlike the first one; read on from "
                  "the header at byte {}",
                  file_.path(), offset_, *found));
  offset_ = *found;
  if (!unit_) expected_ += blocks * geometry_.new_times();
}

void BlockStream::finish() {
  ended_ = true;
  if (offset_ >= file_.size()) return;
  const std::uint64_t rest = file_.size() - offset_;
  damage_.trailing_bytes += rest;
  damage_.note(fmt::format("{}: ends with {}, from byte {} on, without a header like the first",
                           file_.path(), core::counted(rest, "byte"), offset_));
}

void BlockStream::note_cut(const FileBlock& block) {
  const std::uint64_t left = file_.size() - std::min(file_.size(), block.data_offset);
  const std::uint64_t whole = whole_times(block.data_offset);
  damage_.lost_samples +=
      (geometry_.new_times() - block.samples) * geometry_.antennas * geometry_.polarisations;
  damage_.trailing_bytes += left - whole * geometry_.time_bits() * geometry_.rows() / 8;
  damage_.note(
      fmt::format("{}: ends inside the block at byte {}: {}, expected {}; {} of its {} "
                  "times are whole in every channel",
                  file_.path(), block.data_offset, core::counted(left, "byte"),
                  geometry_.data_bytes, whole, geometry_.times()));
}

// The last block, where its header is at the expected place.
std::optional<FileBlock> BlockStream::last_block() const {
  const std::uint64_t blocks = (file_.size() + stride_ - 1) / stride_;
  for (std::uint64_t k = blocks; k > 0 && k + 2 > blocks; --k) {
    const auto cards = header_at((k - 1) * stride_);
    if (!cards) continue;
    const std::uint64_t data = cards->offset() + cards->bytes();
    const auto position = unit_ ? position_of(*cards) : (k - 1) * geometry_.new_times();
    if (position)
      return FileBlock{data, *position, std::min(whole_times(data), geometry_.new_times())};
  }
  return std::nullopt;
}

std::uint64_t BlockStream::estimate_end() const {
  const std::uint64_t blocks = (file_.size() + stride_ - 1) / stride_;
  const auto last = file_.in_order() ? std::nullopt : last_block();
  return last ? last->position + last->samples : blocks * geometry_.new_times();
}

// Of a long file evenly spaced blocks; where one is not like the first, the first such one is found by halving.
void BlockStream::require_unchanged_until(std::uint64_t sample) const {
  constexpr std::uint64_t kMostBlocks = 64;
  const std::uint64_t wanted = sample / geometry_.new_times() + 1,
                      blocks = std::min((file_.size() + stride_ - 1) / stride_, wanted);
  const auto unchanged = [&](std::uint64_t block) {
    const auto cards = header_at(block * stride_);
    return cards && !change_in(*cards) &&
           (!unit_ || position_of(*cards).value_or(0) >= block * geometry_.new_times());
  };
  std::uint64_t like_first = 0;
  for (std::uint64_t k = 1; k <= std::min(blocks, kMostBlocks); ++k) {
    const std::uint64_t block = k * (blocks - 1) / std::min(blocks, kMostBlocks);
    if (unchanged(block)) {
      like_first = block;
      continue;
    }
    std::uint64_t low = like_first, high = block;
    while (low + 1 < high) {
      const std::uint64_t middle = low + (high - low) / 2;
      (unchanged(middle) ? low : high) = middle;
    }
    require_same_layout(high * stride_);
    const auto cards = header_at(high * stride_), before = header_at(low * stride_);
    if (!cards) continue;
    (void)changed_alone(*cards);
    if (unit_ && before) require_onward(*cards, before->integer("PKTIDX", 0, kMaxPacketIndex));
  }
}

void BlockStream::foresee(Damage& damage) const {
  const auto last = file_.in_order() ? std::nullopt : last_block();
  if (!last) return;
  const std::uint64_t before = last->data_offset / stride_;
  if (const std::uint64_t expected = before * geometry_.new_times(); last->position > expected) {
    const std::uint64_t missing = last->position - expected;
    damage.lost_samples += missing * geometry_.antennas * geometry_.polarisations;
    damage.note(fmt::format(
        "{}: PKTIDX of the last block, at byte {}: sample {}, expected {} "
        "behind {}; {} missing",
        file_.path(), last->data_offset, last->position, expected, core::counted(before, "block"),
        core::counted(missing, "sample is", "samples are")));
  }
  BlockStream end(*this, damage);
  end.offset_ = std::max<std::uint64_t>(1, before) * stride_;  // the first block has been read
  end.expected_ = last->position;
  while (end.next()) {
  }
}

}  // namespace tautline::formats::guppi

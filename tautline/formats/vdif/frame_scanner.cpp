#include "tautline/formats/vdif/frame_scanner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "tautline/core/counted.h"

namespace tautline::formats::vdif {

namespace {

constexpr std::size_t kSearchBytes = std::size_t{1} << 20;

// Where a header gives its frame's length, which hardly ever occurs there by chance.
constexpr std::size_t kLengthOffset = 8;

}  // namespace

FrameScanner::FrameScanner(const InputFile& file, const Header& common, Damage* damage)
    : file_(file), common_(common), damage_(damage) {
  for (std::size_t k = 0; k < kLengthBytes; ++k)
    length_bytes_[k] = static_cast<std::byte>(common.frame_bytes / 8 >> (8 * k) & 255);
}

std::optional<Header> FrameScanner::header_at(std::uint64_t offset) const {
  if (offset != looked_at_) {
    header_there_ = read_header(offset);
    looked_at_ = offset;
  }
  return header_there_;
}

std::optional<Header> FrameScanner::read_header(std::uint64_t offset) const {
  std::byte bytes[kHeaderBytes] = {};
  if (offset + common_.header_bytes() > file_.size()) return std::nullopt;
  if (file_.read(offset, std::span(bytes).first(common_.header_bytes())) < common_.header_bytes())
    return std::nullopt;
  const Header header = decode_header(bytes);
  if (!same_layout(header, common_)) return std::nullopt;
  return header;
}

// True when another header follows, or the file's end. That of a stream is known once it has been looked for.
bool FrameScanner::confirmed(std::uint64_t offset) const {
  const std::uint64_t following = offset + common_.frame_bytes;
  return header_at(following) || following + common_.header_bytes() > file_.size();
}

// A look ahead ends where a stream would have to be forgotten.
bool FrameScanner::out_of_reach(std::uint64_t offset) const {
  return damage_ == nullptr && offset > file_.reach();
}

// A search stops where a stream would have to be forgotten.
bool FrameScanner::no_room_to_search(std::uint64_t from) const {
  if (damage_ == nullptr) return out_of_reach(from);
  return from + kSearchBytes + common_.frame_bytes > file_.reach();
}

// The first header at or after `from`. A header that lies a whole number of frames from `boundary` is accepted at once,
// any other when it is confirmed: payloads may hold anything.
std::optional<std::uint64_t> FrameScanner::find_header(std::uint64_t from, std::uint64_t boundary) {
  stopped_at_.reset();
  if (from >= file_.size()) return std::nullopt;
  std::vector<std::byte> window(
      static_cast<std::size_t>(std::min<std::uint64_t>(kSearchBytes, file_.size() - from)));
  const std::size_t needed = common_.header_bytes();
  for (std::uint64_t start = from; start + needed <= file_.size();) {
    if (no_room_to_search(start)) {
      stopped_at_ = start;
      break;
    }
    const std::size_t got = file_.read(start, window);
    if (got < needed) return std::nullopt;
    for (std::size_t k = 0; k + needed <= got; ++k) {
      if (std::memcmp(window.data() + k + kLengthOffset, length_bytes_.data(), kLengthBytes) != 0)
        continue;
      std::array<std::byte, kHeaderBytes> bytes{};
      std::memcpy(bytes.data(), window.data() + k, needed);
      const std::uint64_t offset = start + k;
      const bool aligned = offset >= boundary && (offset - boundary) % common_.frame_bytes == 0;
      if (same_layout(decode_header(bytes), common_) && (aligned || confirmed(offset)))
        return offset;
    }
    start += got - needed + 1;
  }
  return std::nullopt;
}

std::optional<Frame> FrameScanner::next() {
  while (!ended_ && !out_of_reach(offset_ + 2 * common_.frame_bytes)) {
    const auto header = damaged_ ? std::nullopt : header_at(offset_);
    if (!header) {
      if (resume()) continue;
      if (stopped_at_) return std::nullopt;
      finish();
      continue;
    }
    if (boundary_lost()) continue;
    Frame frame{*header, offset_, common_.payload_bytes()};
    const std::uint64_t left = file_.size() - offset_ - common_.header_bytes();
    frame.payload_bytes =
        static_cast<std::size_t>(std::min<std::uint64_t>(frame.payload_bytes, left));
    offset_ += common_.frame_bytes;
    return frame;
  }
  return std::nullopt;
}

// Returns true, and moves on to the next header, when that header is not where it should be but is found elsewhere: the
// frame at offset_ lacks bytes or has too many.
bool FrameScanner::boundary_lost() {
  const std::uint64_t following = offset_ + common_.frame_bytes;
  if (header_at(following) || following + common_.header_bytes() > file_.size()) return false;
  const auto found = find_header(offset_ + common_.header_bytes(), following);
  if (!found || (*found >= following && (*found - following) % common_.frame_bytes == 0))
    return false;
  if (counts()) {
    damage_->dropped_samples += Packing(common_).samples_in(common_.payload_bytes());
    repeated_.note(
        *damage_, "frames of another length", offset_,
        fmt::format("{}: frame at byte {}: {} bytes to the next header, expected {}; the "
                    "frame is dropped",
                    file_.path(), offset_, *found - offset_, common_.frame_bytes));
  }
  offset_ = *found;
  return true;
}

// Moves from a damaged header to the next good one; false when there is none, or none so far.
bool FrameScanner::resume() {
  if (!damaged_) damaged_ = offset_;
  const auto found = find_header(offset_, *damaged_);
  if (stopped_at_) offset_ = *stopped_at_;
  if (!found) return false;
  if (counts()) {
    damage_->dropped_samples += Packing(common_).samples_in(common_.payload_bytes()) *
                                ((*found - *damaged_) / common_.frame_bytes);
    repeated_.note(*damage_, "headers unlike the others'", *damaged_,
                   fmt::format("{}: header at byte {}: unlike the others', expected {} bytes a "
                               "frame, {} of {}; read on from byte {}",
                               file_.path(), *damaged_, common_.frame_bytes,
                               core::counted(common_.channels, "channel"),
                               core::counted(common_.bits, "bit"), *found));
  }
  offset_ = *found;
  damaged_.reset();
  return true;
}

void FrameScanner::finish() {
  ended_ = true;
  const std::uint64_t from = damaged_.value_or(offset_);
  if (!counts() || from >= file_.size()) return;
  const std::uint64_t rest = file_.size() - from;
  damage_->trailing_bytes += rest;
  damage_->note(fmt::format("{}: ends with {}, from byte {} on, that are no frame of {} bytes",
                            file_.path(), core::counted(rest, "byte"), from, common_.frame_bytes));
}

}  // namespace tautline::formats::vdif

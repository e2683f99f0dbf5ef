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

FrameScanner::FrameScanner(const InputFile& file, const Header& first, Damage* damage)
    : file_(file), first_(first), damage_(damage) {
  for (std::size_t k = 0; k < kLengthBytes; ++k)
    length_bytes_[k] = static_cast<std::byte>(first.frame_bytes / 8 >> (8 * k) & 255);
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
  if (offset + first_.header_bytes() > file_.size()) return std::nullopt;
  if (file_.read(offset, std::span(bytes).first(first_.header_bytes())) < first_.header_bytes())
    return std::nullopt;
  const Header header = decode_header(bytes);
  if (!same_recording(header, first_)) return std::nullopt;
  return header;
}

// True when another header follows, or the file's end.
bool FrameScanner::confirmed(std::uint64_t offset) const {
  const std::uint64_t following = offset + first_.frame_bytes;
  return following + first_.header_bytes() > file_.size() || header_at(following);
}

// The first header at or after `from`. A header that lies a whole number of frames from `boundary` is accepted at once,
// any other when it is confirmed: payloads may hold anything.
std::optional<std::uint64_t> FrameScanner::find_header(std::uint64_t from,
                                                       std::uint64_t boundary) const {
  if (from >= file_.size()) return std::nullopt;
  std::vector<std::byte> window(
      static_cast<std::size_t>(std::min<std::uint64_t>(kSearchBytes, file_.size() - from)));
  const std::size_t needed = first_.header_bytes();
  for (std::uint64_t start = from; start + needed <= file_.size();) {
    const std::size_t got = file_.read(start, window);
    if (got < needed) return std::nullopt;
    for (std::size_t k = 0; k + needed <= got; ++k) {
      if (std::memcmp(window.data() + k + kLengthOffset, length_bytes_.data(), kLengthBytes) != 0)
        continue;
      std::array<std::byte, kHeaderBytes> bytes{};
      std::memcpy(bytes.data(), window.data() + k, needed);
      const std::uint64_t offset = start + k;
      const bool aligned = offset >= boundary && (offset - boundary) % first_.frame_bytes == 0;
      if (same_recording(decode_header(bytes), first_) && (aligned || confirmed(offset)))
        return offset;
    }
    start += got - needed + 1;
  }
  return std::nullopt;
}

std::optional<Frame> FrameScanner::next() {
  while (!ended_) {
    const auto header = header_at(offset_);
    if (!header) {
      if (!resume()) finish();
      continue;
    }
    if (boundary_lost()) continue;
    Frame frame{*header, offset_, first_.payload_bytes()};
    const std::uint64_t left = file_.size() - offset_ - first_.header_bytes();
    frame.payload_bytes =
        static_cast<std::size_t>(std::min<std::uint64_t>(frame.payload_bytes, left));
    offset_ += first_.frame_bytes;
    return frame;
  }
  return std::nullopt;
}

// Returns true, and moves on to the next header, when that header is not where it should be but is found elsewhere: the
// frame at offset_ lacks bytes or has too many.
bool FrameScanner::boundary_lost() {
  const std::uint64_t following = offset_ + first_.frame_bytes;
  if (following + first_.header_bytes() > file_.size() || header_at(following)) return false;
  const auto found = find_header(offset_ + first_.header_bytes(), following);
  if (!found || (*found >= following && (*found - following) % first_.frame_bytes == 0))
    return false;
  if (damage_ != nullptr) {
    damage_->dropped_samples += Packing(first_).samples_in(first_.payload_bytes());
    damage_->note(
        fmt::format("{}: frame at byte {}: {} bytes to the next header, expected {}; the "
                    "frame is dropped",
                    file_.path(), offset_, *found - offset_, first_.frame_bytes));
  }
  offset_ = *found;
  return true;
}

// Moves from a damaged header to the next good one; false when there is none.
bool FrameScanner::resume() {
  if (offset_ + first_.header_bytes() > file_.size()) return false;
  const auto found = find_header(offset_, offset_);
  if (!found) return false;
  if (damage_ != nullptr) {
    damage_->dropped_samples += Packing(first_).samples_in(first_.payload_bytes()) *
                                ((*found - offset_) / first_.frame_bytes);
    damage_->note(fmt::format(
        "{}: header at byte {}: unlike the first frame's, expected {} bytes a "
        "frame, {} channels of {} bits; read on from byte {}",
        file_.path(), offset_, first_.frame_bytes, first_.channels, first_.bits, *found));
  }
  offset_ = *found;
  return true;
}

void FrameScanner::finish() {
  ended_ = true;
  if (damage_ == nullptr || offset_ >= file_.size()) return;
  const std::uint64_t rest = file_.size() - offset_;
  damage_->trailing_bytes += rest;
  damage_->note(fmt::format("{}: ends with {}, from byte {} on, that are no frame of {} bytes",
                            file_.path(), core::counted(rest, "byte"), offset_,
                            first_.frame_bytes));
}

}  // namespace tautline::formats::vdif

#include "tautline/formats/forward_bytes.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <utility>

#include "tautline/core/error.h"

namespace tautline::formats {

namespace {

using core::Error;
using core::ErrorKind;

constexpr std::uint64_t kForwardPiece = std::uint64_t{1} << 20;
constexpr std::size_t kSparePieces = 16;
// Between two looks at whether to stop.
constexpr std::chrono::milliseconds kForwardLook{50};

}  // namespace

ForwardBytes::ForwardBytes(std::unique_ptr<ByteFeed> feed, std::size_t most_bytes)
    : feed_(std::move(feed)), most_bytes_(std::max<std::size_t>(most_bytes, 4 * kForwardPiece)) {}

void ForwardBytes::start(std::stop_token stop, std::function<void(bool)> waits) {
  const std::unique_lock lock(mutex_);
  stop_ = std::move(stop);
  waits_ = std::move(waits);
}

void ForwardBytes::copy(std::uint64_t offset, std::span<std::byte> bytes) const {
  while (!bytes.empty()) {
    const auto place = static_cast<std::size_t>(offset % kForwardPiece);
    const std::size_t some = std::min<std::size_t>(bytes.size(), kForwardPiece - place);
    const auto& piece = pieces_[static_cast<std::size_t>(offset / kForwardPiece - first_piece_)];
    std::memcpy(bytes.data(), piece.get() + place, some);
    bytes = bytes.subspan(some);
    offset += some;
  }
}

// Until byte `end` has come, or the feed has ended.
void ForwardBytes::fetch(std::uint64_t end) {
  bool waiting = false;
  const auto tell = [&](bool waits) {
    if (waits_ && waits != waiting) waits_(waits);
    waiting = waits;
  };
  while (came_ < end && !ended_) {
    const std::uint64_t number = came_ / kForwardPiece;
    if (number == first_piece_ + pieces_.size()) {
      recycle();
      if (number * kForwardPiece >= forgotten_ + most_bytes_)
        throw Error(ErrorKind::memory, name() + ": bytes to be kept",
                    "more than " + std::to_string(most_bytes_), "what the memory has room for",
                    "allow for more memory (`memory_bytes`), or write the stream to a file");
      if (spare_.empty()) {
        pieces_.push_back(std::make_unique_for_overwrite<std::byte[]>(kForwardPiece));
      } else {
        pieces_.push_back(std::move(spare_.back()));
        spare_.pop_back();
      }
    }
    const auto place = static_cast<std::size_t>(came_ % kForwardPiece);
    const auto room =
        static_cast<std::size_t>(std::min<std::uint64_t>(kForwardPiece - place, end - came_));
    const std::size_t got = feed_->read({pieces_.back().get() + place, room},
                                        waiting ? kForwardLook : std::chrono::milliseconds(0));
    came_ += got;
    if (got > 0) continue;
    tell(true);
    if (stop_.stop_requested()) feed_->stop();
    if (!feed_->ended()) continue;
    const std::string fault = feed_->fault();
    if (!fault.empty()) throw Error(ErrorKind::io, name(), fault, "a stream that goes on");
    ended_ = true;
  }
  tell(false);
}

std::size_t ForwardBytes::read(std::uint64_t offset, std::span<std::byte> bytes) {
  if (bytes.empty()) return 0;
  const std::uint64_t end = offset + bytes.size();
  const auto give = [&] {
    if (offset < forgotten_)
      throw Error(ErrorKind::io, name() + ": byte " + std::to_string(offset),
                  "gone: it came by a pipe and was read already", "bytes that are still to come",
                  "write the stream to a file, and give that");
    const auto there = static_cast<std::size_t>(
        std::min<std::uint64_t>(bytes.size(), came_ - std::min(came_, offset)));
    copy(offset, bytes.first(there));
    return there;
  };
  {
    const std::shared_lock lock(mutex_);
    if (end <= came_ || ended_) return give();
  }
  const std::unique_lock lock(mutex_);
  fetch(end);
  return give();
}

void ForwardBytes::forget(std::uint64_t offset) {
  const std::unique_lock lock(mutex_);
  forgotten_ = std::max(forgotten_, offset);
  recycle();
}

void ForwardBytes::recycle() {
  while (!pieces_.empty() && (first_piece_ + 1) * kForwardPiece <= std::min(forgotten_, came_)) {
    if (spare_.size() < kSparePieces) spare_.push_back(std::move(pieces_.front()));
    pieces_.pop_front();
    ++first_piece_;
  }
}

std::uint64_t ForwardBytes::size() const {
  const std::shared_lock lock(mutex_);
  return ended_ ? came_ : kUnknownSize;
}

// Keeps two pieces free: one that is begun, and one for headers behind the end.
std::uint64_t ForwardBytes::reach() const {
  const std::shared_lock lock(mutex_);
  return forgotten_ + most_bytes_ - 2 * kForwardPiece;
}

std::uint64_t ForwardBytes::kept_bytes() const {
  const std::shared_lock lock(mutex_);
  return pieces_.size() * kForwardPiece;
}

}  // namespace tautline::formats

#include "tautline/formats/vdif/frame_window.h"

#include <fmt/format.h>

#include <algorithm>

#include "tautline/core/counted.h"

namespace tautline::formats::vdif {

FrameWindow::FrameWindow(const InputFile& file, const Header& first, const Timeline& timeline,
                         Damage& damage)
    : file_(file),
      scanner_(file, first, &damage),
      timeline_(timeline),
      damage_(damage),
      frame_bytes_(first.frame_bytes),
      packing_(first),
      full_samples_(packing_.samples_in(first.payload_bytes())),
      slots_(static_cast<std::size_t>(kReorderFrames) * timeline.threads.size()) {}

Slot& FrameWindow::slot(std::int64_t position, std::size_t thread) {
  return slots_[static_cast<std::size_t>(position % kReorderFrames) * timeline_.threads.size() +
                thread];
}

// Frames are nearly in order, so bisection finds a place in the file before the position, as long
// as every frame it looks at starts where whole frames put it.
void FrameWindow::start_at(std::int64_t position) {
  position_ = silent_before_ = position;
  std::uint64_t low = 0, high = file_.size() / frame_bytes_;
  while (low + 1 < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    const auto header = scanner_.header_at(middle * frame_bytes_);
    if (!header || timeline_.position_of(*header) >= timeline_.limit)
      return;  // read from the start
    if (timeline_.position_of(*header) < position - kReorderFrames)
      low = middle;
    else
      high = middle;
  }
  scanner_.jump(low * frame_bytes_);
}

std::span<const Slot> FrameWindow::get(std::int64_t position) {
  for (; position_ < position; ++position_)
    for (std::size_t t = 0; t < timeline_.threads.size(); ++t) slot(position_, t) = {};
  fill();
  if (ended_ && !waiting_ && position_ > newest_) return {};
  samples_ = samples_here();
  if (samples_ == 0) return {};
  return {&slot(position_, 0), timeline_.threads.size()};
}

// Scans until the position is complete, or a frame is too far ahead to wait for late ones.
void FrameWindow::fill() {
  if (waiting_ && timeline_.position_of(waiting_->header) < position_ + kReorderFrames) {
    place(*waiting_);
    waiting_.reset();
  }
  while (!waiting_ && !ended_ && !complete()) {
    auto frame = next_believable();
    if (!frame)
      ended_ = true;
    else if (timeline_.position_of(frame->header) >= position_ + kReorderFrames)
      waiting_ = frame;
    else
      place(*frame);
  }
}

bool FrameWindow::complete() const {
  const auto* first =
      &slots_[static_cast<std::size_t>(position_ % kReorderFrames) * timeline_.threads.size()];
  return std::all_of(first, first + timeline_.threads.size(),
                     [](const Slot& s) { return s.present; });
}

std::optional<Frame> FrameWindow::next_believable() {
  while (auto frame = scanner_.next()) {
    const std::int64_t position = timeline_.position_of(frame->header);
    if (!timeline_.input_of(frame->header)) {
      drop("thread is not among the first frames'", *frame, noted_thread_);
    } else if (frame->header.frame >= timeline_.frames_per_second || position < 0 ||
               position >= timeline_.limit || !believable_jump(*frame, position)) {
      drop("time does not fit its neighbours'", *frame, noted_time_);
    } else if (position < position_) {
      if (position >= silent_before_) drop("comes too late", *frame, noted_late_);
    } else {
      return frame;
    }
  }
  return std::nullopt;
}

// A lone frame far ahead is a damaged header; a gap is a gap when the next frame confirms it.
bool FrameWindow::believable_jump(const Frame& frame, std::int64_t position) const {
  if (position < std::max(newest_, position_) + kReorderFrames) return true;
  const auto next = scanner_.header_at(frame.offset + frame_bytes_);
  if (!next) return false;
  const std::int64_t following = timeline_.position_of(*next);
  return following > position - kReorderFrames && following < position + kReorderFrames;
}

void FrameWindow::place(const Frame& frame) {
  const std::int64_t position = timeline_.position_of(frame.header);
  Slot& s = slot(position, *timeline_.input_of(frame.header));
  if (s.present) {
    drop("repeats an earlier one", frame, noted_repeat_);
    return;
  }
  s.present = true;
  s.invalid = frame.header.invalid;
  s.payload_offset = frame.offset + frame.header.header_bytes();
  s.samples = packing_.samples_in(frame.payload_bytes);
  newest_ = std::max(newest_, position);
  if (s.invalid && !noted_invalid_) {
    noted_invalid_ = true;
    damage_.note(
        fmt::format("{}: frame at byte {}: marked invalid by its writer; this and others "
                    "like it are counted as lost",
                    file_.path(), frame.offset));
  }
  if (s.samples == full_samples_) return;
  damage_.trailing_bytes +=
      frame.payload_bytes - s.samples / packing_.group_samples() * packing_.group_words() * 4;
  damage_.note(
      fmt::format("{}: ends inside the frame at byte {}: {} of payload, expected {}; "
                  "its first {} samples are whole",
                  file_.path(), frame.offset, core::counted(frame.payload_bytes, "byte"),
                  frame.header.payload_bytes(), s.samples));
}

void FrameWindow::drop(const char* reason, const Frame& frame, bool& noted) {
  damage_.dropped_samples += packing_.samples_in(frame.payload_bytes);
  if (noted) return;
  noted = true;
  damage_.note(
      fmt::format("{}: frame at byte {}: second {}, frame number {}, thread {} {}; it and "
                  "others like it are dropped and counted",
                  file_.path(), frame.offset, frame.header.seconds, frame.header.frame,
                  frame.header.thread, reason));
}

// Only the file's last frame can be cut; then the stream's last position ends with the most that
// any thread has.
std::size_t FrameWindow::samples_here() {
  const Slot* first = &slot(position_, 0);
  const Slot* end = first + timeline_.threads.size();
  if (std::none_of(first, end,
                   [&](const Slot& s) { return s.present && s.samples < full_samples_; }))
    return full_samples_;
  if (!ended_ && !waiting_) waiting_ = next_believable();
  ended_ = !waiting_;
  if (position_ < newest_) return full_samples_;
  std::size_t most = 0;
  for (const Slot* s = first; s < end; ++s) most = std::max(most, s->present ? s->samples : 0);
  return most;
}

}  // namespace tautline::formats::vdif

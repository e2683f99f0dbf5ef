#include "tautline/formats/vdif/frame_window.h"

#include <fmt/format.h>

#include <algorithm>

#include "tautline/core/counted.h"
#include "tautline/formats/vdif/thread_roles.h"

namespace tautline::formats::vdif {

namespace {

// A gap of more frames than these, and than so many times the frames so far, needs the frames of a scan behind it.
constexpr std::int64_t kMostTimesFrames = 16, kLeastOfGap_frames = 8192;

// What the search for a header may read beyond the next one.
constexpr std::uint64_t kSearchRoom_bytes = std::uint64_t{1} << 20;

// Frames behind one that is ahead, of which most must be, too.
constexpr std::int64_t kConfirming = 3;

// The same where damage of several frames would cost all those behind them; a scan has the least of them.
constexpr std::int64_t kConfirmingScan = 16, kLeastOfScan = 8;

}  // namespace

FrameWindow::FrameWindow(const InputFile& file, const Header& common, const Timeline& timeline,
                         Damage& damage)
    : file_(file),
      scanner_(file, common, &damage),
      timeline_(timeline),
      damage_(damage),
      frame_bytes_(common.frame_bytes),
      header_bytes_(common.header_bytes()),
      packing_(common),
      full_samples_(packing_.samples_in(common.payload_bytes())),
      slots_(static_cast<std::size_t>(kReorderFrames) * timeline.threads.size()) {}

Slot& FrameWindow::slot(std::int64_t position, std::size_t thread) {
  return slots_[static_cast<std::size_t>(position % kReorderFrames) * timeline_.threads.size() +
                thread];
}

const Slot& FrameWindow::slot(std::int64_t position, std::size_t thread) const {
  return slots_[static_cast<std::size_t>(position % kReorderFrames) * timeline_.threads.size() +
                thread];
}

std::uint64_t FrameWindow::needed_from(std::int64_t position) const {
  std::uint64_t first = waiting_ ? waiting_->offset : scanner_.offset();
  const std::int64_t end = std::min(newest_ + 1, position_ + kReorderFrames);
  for (std::int64_t p = std::max(position, position_); p < end; ++p)
    for (std::size_t t = 0; t < timeline_.threads.size(); ++t)
      if (slot(p, t).present) first = std::min(first, slot(p, t).payload_offset - header_bytes_);
  return first;
}

// Frames are nearly in order, so bisection finds a place in the file before the position, as long
// as every frame it looks at starts where whole frames put it.
void FrameWindow::start_at(std::int64_t position) {
  position_ = silent_before_ = position;
  if (file_.in_order()) {
    skipping_ = position > kReorderFrames;
    scanner_.set_silent(skipping_);
    return;
  }
  std::uint64_t low = 0, high = file_.size() / frame_bytes_;
  while (low + 1 < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    const auto there = position_near(scanner_, timeline_, middle, frame_bytes_);
    if (!there) return;  // read from the start
    if (*there < position - kReorderFrames)
      low = middle;
    else
      high = middle;
  }
  scanner_.jump(low * frame_bytes_);
}

std::span<const Slot> FrameWindow::get(std::int64_t position, bool as_it_is) {
  for (; position_ < position; ++position_)
    for (std::size_t t = 0; t < timeline_.threads.size(); ++t) slot(position_, t) = {};
  fill();
  if (waiting_ && position_ > newest_) require_readable(timeline_.position_of(waiting_->header));
  const bool none = !waiting_ && position_ > newest_;
  stalled_ = !ended_ && !waiting_ && !complete() && out_of_room() && (none || !as_it_is);
  if (stalled_ || (none && ended_)) return {};
  samples_ = samples_here();
  if (samples_ == 0) return {};
  return {&slot(position_, 0), timeline_.threads.size()};
}

// Scans until the position is complete without doubt, or a frame is too far ahead to wait for late ones.
void FrameWindow::fill() {
  if (waiting_ && timeline_.position_of(waiting_->header) < position_ + kReorderFrames) {
    place(*waiting_);
    waiting_.reset();
  }
  while (!waiting_ && !ended_ && !complete() && !out_of_room()) {
    auto frame = next_believable();
    if (!frame) {
      if (!out_of_room()) take_end();
    } else if (timeline_.position_of(frame->header) >= position_ + kReorderFrames) {
      waiting_ = frame;
      note_gap(*frame);
    } else {
      place(*frame);
    }
  }
}

// Whether what comes next would not fit beside the bytes that are kept.
bool FrameWindow::out_of_room() const {
  return scanner_.offset() + 2 * frame_bytes_ + kSearchRoom_bytes > file_.reach();
}

bool FrameWindow::complete() const {
  const auto* first =
      &slots_[static_cast<std::size_t>(position_ % kReorderFrames) * timeline_.threads.size()];
  return std::all_of(first, first + timeline_.threads.size(),
                     [](const Slot& s) { return s.present && !s.doubtful; });
}

std::optional<Frame> FrameWindow::next_believable() {
  while (auto frame = scanner_.next()) {
    const std::int64_t position = timeline_.position_of(frame->header);
    if (skipping_ && still_skipped(*frame, position)) {
      if (out_of_room()) break;
      continue;
    }
    if (!timeline_.input_of(frame->header)) {
      drop("is not among the first frames'", *frame, noted_thread_);
    } else if (frame->header.frame >= timeline_.frames_per_second || position < 0 ||
               position >= timeline_.limit || !believable_jump(*frame, position)) {
      drop("time does not fit its neighbours'", *frame, noted_time_);
    } else if (position < position_) {
      surely_ = std::max(surely_, position);
      if (position >= silent_before_)
        drop("is of a time that was given already (too late, or a repeat)", *frame, noted_late_);
    } else {
      return frame;
    }
    if (out_of_room()) break;
  }
  return std::nullopt;
}

// Whether the frame of a stream lies before those at which the reader of a file begins.
bool FrameWindow::still_skipped(const Frame& frame, std::int64_t position) {
  if (position < silent_before_ - kReorderFrames || !believable_jump(frame, position)) return true;
  skipping_ = false;
  scanner_.set_silent(false);
  return false;
}

// How many of the next frames in the file are agrees(number, position).
template <class Agrees>
FrameWindow::Behind FrameWindow::behind(const Frame& frame, std::int64_t count,
                                        const Agrees& agrees) const {
  Behind result;
  for (std::int64_t k = 1; k <= count; ++k) {
    const std::uint64_t at = frame.offset + static_cast<std::uint64_t>(k) * frame_bytes_;
    if (at + kHeaderBytes > file_.reach()) break;
    const auto header = scanner_.header_at(at);
    if (!header) continue;
    ++result.found;
    result.agree += agrees(k, timeline_.position_of(*header)) ? 1 : 0;
  }
  return result;
}

// A few frames far ahead are damaged headers; a gap is a gap when the next frames confirm it.
bool FrameWindow::believable_jump(const Frame& frame, std::int64_t position) const {
  const std::int64_t expected = std::max(newest_, position_);
  if (position < expected + kReorderFrames) return true;
  const auto near = [&](std::int64_t, std::int64_t following) {
    return following > position - kReorderFrames && following < position + kReorderFrames;
  };
  const auto ahead = [&](std::int64_t, std::int64_t following) {
    return following > position - kReorderFrames && following < position + kLeastOfGap_frames;
  };
  if (!behind(frame, kConfirming, near).most()) return false;
  const Behind scan = behind(frame, kConfirmingScan, ahead);
  const auto so_far = static_cast<std::int64_t>(frame.offset / frame_bytes_);
  if (position <= expected + std::max(kLeastOfGap_frames, kMostTimesFrames * so_far))
    return scan.most();
  // Another scan. Of a stream that begins more than a day later the time is damaged; of a file it is an error once these
  // frames are read.
  return scan.agree >= kLeastOfScan &&
         !(file_.in_order() && longer_than_a_day({expected, position}, timeline_));
}

// Behind a gap the frames go on from there. The last frame of a single thread may follow one that was lost.
bool FrameWindow::doubtful(const Frame& frame, std::int64_t position) const {
  const auto threads = static_cast<std::int64_t>(timeline_.threads.size());
  const auto onward = [&](std::int64_t k, std::int64_t following) {
    return following >= position + k / threads;
  };
  if (position <= surely_ + 1) return false;
  const Behind after = behind(frame, kConfirming, onward);
  return after.found == 0 ? threads > 1 || position > surely_ + 2 : !after.most();
}

// No frame is to come that goes on from a doubtful one. It came early where it is next and nothing is missing before it;
// else its number is damaged, and makes the stream no longer.
void FrameWindow::take_end() {
  ended_ = true;
  for (std::int64_t p = std::max(surely_ + 1, position_); p <= newest_; ++p) {
    const bool next = p == surely_ + 1;
    for (std::size_t t = 0; t < timeline_.threads.size(); ++t) {
      Slot& last = slot(p, t);
      if (!last.present) continue;
      std::int64_t before = position_;
      while (before < p && slot(before, t).present) ++before;
      if (next && before == p) {
        surely_ = p;
        continue;
      }
      drop_doubtful(last);
      last = {};
    }
  }
  newest_ = surely_;
}

// Not where the gap begins: others look at a few samples behind data.
void FrameWindow::require_readable(std::int64_t next) const {
  const std::int64_t begin = std::max(newest_ + 1, silent_before_);
  if (longer_than_a_day({begin, next}, timeline_) &&
      longer_than_a_day({begin, position_}, timeline_))
    throw gap_error(file_.path(), {begin, next}, timeline_);
}

void FrameWindow::note_gap(const Frame& frame) {
  const Gap gap{std::max(newest_, position_ - 1) + 1, timeline_.position_of(frame.header)};
  if (timeline_.seconds_to(gap.end - gap.begin) < kNamedGap_s) return;
  damage_.note(file_.path() + ": " + gap_text(gap, timeline_));
}

void FrameWindow::place(const Frame& frame) {
  const std::int64_t position = timeline_.position_of(frame.header);
  Slot& s = slot(position, *timeline_.input_of(frame.header));
  const bool doubted = doubtful(frame, position);
  if (s.present && (doubted || !s.doubtful)) {
    if (position < surely_ || same_payload(s, frame)) {
      drop("repeats an earlier one", frame, noted_repeat_);
    } else {  // which of them has the wrong header is not known
      s.invalid = true;
      drop("differs from an earlier one, which is lost, too", frame, noted_other_);
    }
    return;
  }
  if (s.present) drop_doubtful(s);
  s.present = true;
  s.doubtful = doubted;
  s.invalid = frame.header.invalid;
  s.payload_offset = frame.offset + frame.header.header_bytes();
  s.samples = packing_.samples_in(frame.payload_bytes);
  newest_ = std::max(newest_, position);
  if (!doubted) surely_ = std::max(surely_, position);
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
  damage_.note(fmt::format(
      "{}: ends inside the frame at byte {}: {} of payload, expected {}; "
      "{} whole in them",
      file_.path(), frame.offset, core::counted(frame.payload_bytes, "byte"),
      frame.header.payload_bytes(), core::counted(s.samples, "sample is", "samples are")));
}

bool FrameWindow::same_payload(const Slot& placed, const Frame& frame) const {
  std::vector<std::byte> a(frame.payload_bytes), b(frame.payload_bytes);
  return file_.read(placed.payload_offset, a) == a.size() &&
         file_.read(frame.offset + header_bytes_, b) == b.size() && a == b;
}

void FrameWindow::drop_doubtful(const Slot& placed) {
  const std::uint64_t offset = placed.payload_offset - header_bytes_;
  if (const auto header = scanner_.header_at(offset))
    drop("time does not fit its neighbours'", {*header, offset, header->payload_bytes()},
         noted_time_);
}

void FrameWindow::drop(const char* reason, const Frame& frame, bool& noted) {
  damage_.dropped_samples += packing_.samples_in(frame.payload_bytes);
  if (noted) return;
  noted = true;
  damage_.note(fmt::format(
      "{}: frame at byte {}: second {}, frame number {}, thread {} of station {} {}; it "
      "and others like it are dropped and counted",
      file_.path(), frame.offset, frame.header.seconds, frame.header.frame, frame.header.thread,
      station_text(frame.header.station), reason));
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
  if (!waiting_ && !ended_) take_end();
  if (position_ < newest_) return full_samples_;
  std::size_t most = 0;
  for (const Slot* s = first; s < end; ++s) most = std::max(most, s->present ? s->samples : 0);
  return most;
}

}  // namespace tautline::formats::vdif

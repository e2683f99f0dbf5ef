// The frames of one position at a time, put in order: late, early, repeated and missing ones.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tautline/formats/vdif/timeline.h"

namespace tautline::formats::vdif {

/// The place in the file of one thread's payload of one position.
struct Slot {
  bool present = false;
  bool invalid = false;  ///< marked so by its writer
  std::uint64_t payload_offset = 0;
  std::size_t samples = 0;  ///< whole ones in the file
};

/// Holds places of payloads, not payloads: kReorderFrames positions of every thread.
class FrameWindow {
 public:
  FrameWindow(const InputFile& file, const Header& first, const Timeline& timeline, Damage& damage);

  /// Starts at a position: frames before it are skipped in silence. Only before the first get().
  void start_at(std::int64_t position);
  /// The slots of a position, one a thread; positions must not go back. Empty at the stream's end.
  std::span<const Slot> get(std::int64_t position);
  /// Samples of the position that get() gave last: a whole frame's, or fewer at the stream's end.
  std::size_t samples() const { return samples_; }

 private:
  void fill();
  std::optional<Frame> next_believable();
  bool believable_jump(const Frame& frame, std::int64_t position) const;
  void place(const Frame& frame);
  void drop(const char* reason, const Frame& frame, bool& noted);
  bool complete() const;
  Slot& slot(std::int64_t position, std::size_t thread);
  std::size_t samples_here();

  const InputFile& file_;
  FrameScanner scanner_;
  const Timeline& timeline_;
  Damage& damage_;
  std::uint64_t frame_bytes_;
  Packing packing_;
  std::size_t full_samples_;
  std::vector<Slot> slots_;    ///< [position modulo kReorderFrames][thread]
  std::int64_t position_ = 0;  ///< of the last get()
  std::int64_t silent_before_ = 0;
  std::int64_t newest_ = -1;      ///< largest position placed
  std::optional<Frame> waiting_;  ///< beyond the window
  bool ended_ = false;
  std::size_t samples_ = 0;
  bool noted_repeat_ = false, noted_late_ = false, noted_thread_ = false, noted_time_ = false,
       noted_invalid_ = false;
};

}  // namespace tautline::formats::vdif

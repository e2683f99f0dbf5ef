// The frames of one position at a time, put in order: late, early, repeated and missing ones.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tautline/formats/vdif/gaps.h"
#include "tautline/formats/vdif/timeline.h"

namespace tautline::formats::vdif {

/// The place in the file of one thread's payload of one position.
struct Slot {
  bool present = false;
  bool invalid = false;  ///< marked so by its writer, or contradicted by another frame
  /// Comes early, and the frames behind it do not: another may be the right one.
  bool doubtful = false;
  std::uint64_t payload_offset = 0;
  std::size_t samples = 0;  ///< whole ones in the file
};

/// Holds places of payloads, not payloads: kReorderFrames positions of every thread. The bytes of a stream are kept
/// from the oldest place on; where there is no room for more of them, a position is given without the frames that lack.
class FrameWindow {
 public:
  FrameWindow(const InputFile& file, const Header& common, const Timeline& timeline,
              Damage& damage);

  /// Starts at a position: frames before it are skipped in silence. Only before the first get().
  void start_at(std::int64_t position);
  /// The slots of a position, one a thread; positions must not go back. Throws Error(format) in a gap of more than
  /// kLongestGap_s, as much behind its begin. Empty at the stream's end, and where it is stalled().
  std::span<const Slot> get(std::int64_t position, bool as_it_is = false);
  /// Whether bytes before needed_from() have to be forgotten before get() goes on; where there are none, it gives a
  /// position `as_it_is`.
  bool stalled() const { return stalled_; }
  /// Samples of the position that get() gave last: a whole frame's, or fewer at the stream's end.
  std::size_t samples() const { return samples_; }
  /// The first byte that payloads of this position and later ones, and headers to come, may need.
  std::uint64_t needed_from(std::int64_t position) const;
  const RepeatedDamage& repeated() const { return scanner_.repeated(); }
  /// Where the next header is read.
  std::uint64_t scanned_to() const { return scanner_.offset(); }

 private:
  void fill();
  void take_end();
  std::optional<Frame> next_believable();
  bool believable_jump(const Frame& frame, std::int64_t position) const;
  bool doubtful(const Frame& frame, std::int64_t position) const;
  /// Headers behind a frame, and those that agree with it.
  struct Behind {
    std::int64_t found = 0, agree = 0;
    bool most() const { return 2 * agree > found; }
  };
  template <class Agrees>
  Behind behind(const Frame& frame, std::int64_t count, const Agrees& agrees) const;
  void require_readable(std::int64_t next) const;
  void note_gap(const Frame& frame);
  bool still_skipped(const Frame& frame, std::int64_t position);
  void place(const Frame& frame);
  bool same_payload(const Slot& placed, const Frame& frame) const;
  void drop_doubtful(const Slot& placed);
  void drop(const char* reason, const Frame& frame, bool& noted);
  bool complete() const;
  bool out_of_room() const;
  Slot& slot(std::int64_t position, std::size_t thread);
  const Slot& slot(std::int64_t position, std::size_t thread) const;
  std::size_t samples_here();

  const InputFile& file_;
  FrameScanner scanner_;
  const Timeline& timeline_;
  Damage& damage_;
  std::uint64_t frame_bytes_, header_bytes_;
  Packing packing_;
  std::size_t full_samples_;
  std::vector<Slot> slots_;    ///< [position modulo kReorderFrames][thread]
  std::int64_t position_ = 0;  ///< of the last get()
  std::int64_t silent_before_ = 0;
  std::int64_t newest_ = -1;      ///< largest position placed
  std::int64_t surely_ = -1;      ///< the same without doubtful ones
  std::optional<Frame> waiting_;  ///< beyond the window
  bool ended_ = false, stalled_ = false, skipping_ = false;
  std::size_t samples_ = 0;
  bool noted_repeat_ = false, noted_other_ = false, noted_late_ = false, noted_thread_ = false,
       noted_time_ = false, noted_invalid_ = false;
};

}  // namespace tautline::formats::vdif

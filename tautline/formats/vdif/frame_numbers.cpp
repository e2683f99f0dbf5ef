#include "tautline/formats/vdif/frame_numbers.h"

#include <optional>

#include "tautline/formats/vdif/frame_scanner.h"

namespace tautline::formats::vdif {

namespace {

/// The frames of a long file around the ends of its first seconds, found by halving: a second of 16 Gb/s has 250,000
/// frames, whose headers would be as many reads.
class EndsOfSeconds {
 public:
  EndsOfSeconds(const InputFile& file, const Header& common)
      : scanner_(file, common, nullptr),
        in_order_(file.in_order()),
        frame_bytes_(common.frame_bytes),
        frames_(file.size() / common.frame_bytes) {}

  // None: in a stream, a short file, or where the frames are not in the order of time, every header has to be read.
  std::optional<FrameNumbers> numbers(std::int64_t frames_per_second) {
    if (in_order_ || frames_ < 16 * kFramesToKnowThreads) return std::nullopt;
    FrameNumbers found;
    for (std::uint64_t k = 0; k < kHalf; ++k)
      if (const auto header = header_of(k)) found.add(*header, frames_per_second);
    // Frames of the second before may come late.
    for (std::uint64_t at = kHalf, k = 0; at < frames_ && k < kMostSeconds; at += kHalf, ++k) {
      if (k >= kFewestSeconds && found.certain()) break;
      const auto header = header_of(at);
      if (!header) return std::nullopt;
      at = end_of(header->seconds_since_2000(), at);
      if (!look_around(at, header->seconds_since_2000(), frames_per_second, found))
        return std::nullopt;
    }
    return found;
  }

 private:
  static constexpr std::uint64_t kHalf = kFramesToKnowThreads / 2;

  std::optional<Header> header_of(std::uint64_t frame) const {
    return scanner_.header_at(frame * frame_bytes_);
  }
  // The first frame behind frame `from`, of this second, that is of another one, or the number of frames.
  std::uint64_t end_of(std::int64_t second, std::uint64_t from) const {
    const auto inside = [&](std::uint64_t frame) {
      const auto header = header_of(frame);
      return header && header->seconds_since_2000() == second;
    };
    std::uint64_t low = from, step = 1;
    while (low + step < frames_ && inside(low + step)) {
      low += step;
      step *= 2;
    }
    std::uint64_t high = std::min(frames_, low + step);
    while (high - low > 1) {
      const std::uint64_t middle = low + (high - low) / 2;
      (inside(middle) ? low : high) = middle;
    }
    return high;
  }
  // Whether the second indeed ends at this frame, where late frames have had time to come: a damaged header ends none.
  bool look_around(std::uint64_t frame, std::int64_t second, std::int64_t frames_per_second,
                   FrameNumbers& found) {
    const std::uint64_t low = frame - std::min(frame, kHalf),
                        high = std::min(frames_, frame + kHalf);
    std::uint64_t before = 0, after = 0;
    found.jump();
    for (std::uint64_t k = low; k < high; ++k) {
      const auto header = header_of(k);
      if (!header) continue;
      found.add(*header, frames_per_second);
      before += header->seconds_since_2000() == second ? 1 : 0;
      after += header->seconds_since_2000() == second + 1 ? 1 : 0;
    }
    return 4 * before > 3 * (frame - low) && 4 * after >= 3 * (high - frame);
  }

  FrameScanner scanner_;
  bool in_order_;
  std::uint64_t frame_bytes_, frames_;
};

}  // namespace

FrameNumbers look_at_numbers(const InputFile& file, const Header& common,
                             std::int64_t frames_per_second) {
  if (const auto found = EndsOfSeconds(file, common).numbers(frames_per_second)) return *found;
  FrameScanner scanner(file, common, nullptr);
  FrameNumbers found;
  std::size_t enough = 0;  // frames still to look at, once counting down
  while (const auto frame = scanner.next()) {
    const std::int64_t second = frame->header.seconds_since_2000();
    found.add(frame->header, frames_per_second);
    // Two seconds that have ended and agree are enough, when late frames have had time to come.
    if (enough > 0 && --enough == 0 && (found.certain() || found.seconds.size() > kMostSeconds))
      break;
    if (enough == 0 && found.seconds.contains(second - 1) && found.seconds.contains(second - 2))
      enough = kFramesToKnowThreads;
    // Single frames with damaged seconds are forgotten.
    if (found.seconds.size() > 4096) found.forget_first_second();
  }
  return found;
}

}  // namespace tautline::formats::vdif

#include "tautline/formats/vdif/gaps.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "tautline/formats/input_file.h"

namespace tautline::formats::vdif {

namespace {

constexpr std::uint64_t kMedianFrames = 9;

// A frame of the file, and its position.
struct FramePlace {
  std::uint64_t frame = 0;
  std::int64_t position = 0;
};

class GapSearch {
 public:
  GapSearch(const FrameScanner& scanner, const Timeline& timeline, std::uint64_t frame_bytes)
      : scanner_(scanner),
        timeline_(timeline),
        frame_bytes_(frame_bytes),
        least_(std::max(kReorderFrames,
                        static_cast<std::int64_t>(
                            kNamedGap_s * static_cast<double>(timeline.frames_per_second)))) {}

  std::vector<Gap> between_first_and(std::uint64_t frames) {
    if (frames == 0) return {};
    const auto begin = place_from(0, frames);
    std::optional<FramePlace> end;
    for (std::uint64_t back = kMedianFrames; !end && back < kMedianFrames + kTries; ++back)
      end = place_from(frames - std::min(frames, back), frames);
    if (begin && end) halve(*begin, *end);
    return gaps_;
  }

 private:
  // Damage that hides a place is passed over so far; many small losses are not followed to their ends.
  static constexpr std::uint64_t kTries = 16;
  static constexpr int kMostPlaces = 4096;

  std::optional<FramePlace> place_from(std::uint64_t frame, std::uint64_t end) {
    for (std::uint64_t k = frame; k < end && k < frame + kTries; ++k)
      if (const auto position = position_near(scanner_, timeline_, k, frame_bytes_))
        return FramePlace{k, *position};
    return std::nullopt;
  }
  void halve(const FramePlace& begin, const FramePlace& end) {
    const auto threads = static_cast<std::int64_t>(timeline_.threads.size());
    const auto frames =
        static_cast<std::int64_t>(end.frame) - static_cast<std::int64_t>(begin.frame);
    if (end.position - begin.position - frames / threads < least_ || ++places_ > kMostPlaces)
      return;
    const auto middle =
        frames > 1 ? place_from(begin.frame + static_cast<std::uint64_t>(frames) / 2, end.frame)
                   : std::nullopt;
    if (!middle) {
      find_between(begin, end);
      return;
    }
    halve(begin, *middle);
    halve(*middle, end);
  }
  // Medians of neighbours: the ends of the gap are those of the frames themselves. Damaged ones are not between these.
  void find_between(const FramePlace& begin, const FramePlace& end) {
    Gap gap{begin.position + 1, end.position};
    for (std::uint64_t k = begin.frame; k < end.frame + kMedianFrames; ++k) {
      const auto header = scanner_.header_at(k * frame_bytes_);
      if (!header || !timeline_.input_of(*header)) continue;
      const std::int64_t at = timeline_.position_of(*header);
      if (std::abs(at - begin.position) < kReorderFrames) gap.begin = std::max(gap.begin, at + 1);
      if (std::abs(at - end.position) < kReorderFrames) gap.end = std::min(gap.end, at);
    }
    gaps_.push_back(gap);
  }

  const FrameScanner& scanner_;
  const Timeline& timeline_;
  std::uint64_t frame_bytes_;
  std::int64_t least_;
  int places_ = 0;
  std::vector<Gap> gaps_;
};

}  // namespace

std::optional<std::int64_t> position_near(const FrameScanner& scanner, const Timeline& timeline,
                                          std::uint64_t frame, std::uint64_t frame_bytes) {
  std::vector<std::int64_t> positions;
  for (std::uint64_t k = frame; k < frame + kMedianFrames; ++k) {
    const auto header = scanner.header_at(k * frame_bytes);
    if (header && header->frame < timeline.frames_per_second)
      positions.push_back(timeline.position_of(*header));
  }
  if (positions.empty()) return std::nullopt;
  std::sort(positions.begin(), positions.end());
  return positions[(positions.size() - 1) / 2];
}

std::vector<Gap> find_gaps(const FrameScanner& scanner, const Timeline& timeline,
                           std::uint64_t frames, std::uint64_t frame_bytes) {
  return GapSearch(scanner, timeline, frame_bytes).between_first_and(frames);
}

bool longer_than_a_day(const Gap& gap, const Timeline& timeline) {
  return gap.end - gap.begin > kLongestGap_s * timeline.frames_per_second;
}

std::string gap_text(const Gap& gap, const Timeline& timeline) {
  return fmt::format(
      "no frames for {:.6g} s, from {:.9g} s to {:.9g} s behind its begin: a gap, {}",
      timeline.seconds_to(gap.end - gap.begin), timeline.seconds_to(gap.begin),
      timeline.seconds_to(gap.end),
      longer_than_a_day(gap, timeline)
          ? "too long to be read through: only the data on one side of it can be read"
          : "whose samples count as lost");
}

core::Error gap_error(const std::string& path, const Gap& gap, const Timeline& timeline) {
  const double begin_s = timeline.seconds_to(gap.begin), end_s = timeline.seconds_to(gap.end);
  return format_error(
      path, "times of frames",
      fmt::format("no frames for {:.6g} s ({:.1f} days), between data from 0 to {:.9g} s behind "
                  "the begin and data from {:.9g} s on",
                  end_s - begin_s, (end_s - begin_s) / 86'400, begin_s, end_s),
      fmt::format("gaps of at most {} s", kLongestGap_s),
      fmt::format("take the data before the gap with `duration_s` of {:.9g}, those behind it with "
                  "`start_s` of {:.12g}, or split the file there",
                  begin_s, end_s));
}

}  // namespace tautline::formats::vdif

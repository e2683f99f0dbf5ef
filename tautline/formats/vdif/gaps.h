// Gaps between the scans of a VDIF file, found by a few of its headers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tautline/core/error.h"
#include "tautline/formats/vdif/timeline.h"

namespace tautline::formats::vdif {

/// Longer gaps are not read through, which takes as long as reading data.
inline constexpr std::int64_t kLongestGap_s = 86'400;
/// A shorter one is counted, and not named by itself.
inline constexpr double kNamedGap_s = 10;

/// Positions without frames.
struct Gap {
  std::int64_t begin = 0, end = 0;
};

/// The position of frame `frame` of the file, the median of it and of the frames behind it, as far as these are there:
/// headers may be damaged.
std::optional<std::int64_t> position_near(const FrameScanner& scanner, const Timeline& timeline,
                                          std::uint64_t frame, std::uint64_t frame_bytes);

/// The gaps of kNamedGap_s or more between the first frames of the file, in order, found by halving: frames that lie
/// where whole frames put them. Scans of a few frames may be passed over.
std::vector<Gap> find_gaps(const FrameScanner& scanner, const Timeline& timeline,
                           std::uint64_t frames, std::uint64_t frame_bytes);

bool longer_than_a_day(const Gap& gap, const Timeline& timeline);

/// "no frames for 300 s, from 2 s to 302 s behind its begin: a gap, whose samples count as lost".
std::string gap_text(const Gap& gap, const Timeline& timeline);

/// Of a gap longer than kLongestGap_s: names the data on both sides and the fields that choose one.
core::Error gap_error(const std::string& path, const Gap& gap, const Timeline& timeline);

}  // namespace tautline::formats::vdif

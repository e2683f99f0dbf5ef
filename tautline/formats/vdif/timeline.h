// The threads of a VDIF file, its rate of frames, and the place in time of each frame.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tautline/core/time.h"
#include "tautline/formats/vdif/frame_scanner.h"

namespace tautline::formats::vdif {

/// Frames of one thread that may arrive this much too late or too early and still find their place.
inline constexpr std::int64_t kReorderFrames = 64;

/// A frame's position is its number since the stream's first, the same for every thread.
struct Timeline {
  std::vector<std::uint32_t> threads;  ///< keys in ascending order: the inputs
  core::Rational rate_hz;              ///< of samples
  std::int64_t frames_per_second = 1;
  std::int64_t origin_second = 0, origin_frame = 0;  ///< of position 0; the second since 2000
  std::int64_t limit = 0;  ///< positions at and beyond this one have no number of a sample
  /// A remark: the rate that frame numbers tell, where it is below the one that was given.
  std::string other_rate;

  std::optional<std::size_t> input_of(const Header& header) const;
  double seconds_to(std::int64_t position) const {
    return static_cast<double>(position) / static_cast<double>(frames_per_second);
  }
  std::int64_t position_of(const Header& header) const {
    return (header.seconds_since_2000() - origin_second) * frames_per_second + header.frame -
           origin_frame;
  }
};

/// Looks through the beginning of the file. Throws Error(format) when the sample rate is not known, does not give whole
/// frames in a second, or is one, given or of the headers, of fewer frames in a second than the frames' numbers tell.
Timeline find_timeline(const InputFile& file, const Header& common,
                       const core::Rational& told_rate);

}  // namespace tautline::formats::vdif

// How strong the samples of an input are, and how many are at the ends of their range (docs/design/levels.md).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tautline::stream {

/// Of the components (real and imaginary parts) of an input that were looked at.
struct RecordedLevel {
  std::uint64_t components = 0;
  std::uint64_t at_ends = 0;       ///< end or more, in magnitude
  std::uint64_t next_to_ends = 0;  ///< one step less
  int end = 0;  ///< the largest value of the range; 0: floats, and samples of few bits
  double rms = 0;
  /// Of complex integers, real and imaginary: the first sample's part, and the bits in which others differ from it.
  std::array<int, 2> first{}, differ{};

  double share() const;
  /// The share of Gaussian noise of this rms.
  double noise_share() const;
  /// Whether that many are at the ends only where something cut the samples off there.
  bool clipped() const;
  /// Whether one part changes and the other, 0: real, 1: imaginary, never does.
  bool still(std::size_t part) const { return differ[part] == 0 && differ[1 - part] != 0; }
};

/// Of a stream of voltages.
struct RecordedLevels {
  std::vector<RecordedLevel> inputs;  ///< empty: the samples were not looked at
  double part = 1;                    ///< of all samples, that were looked at

  std::vector<std::size_t> clipped() const;
};

}  // namespace tautline::stream

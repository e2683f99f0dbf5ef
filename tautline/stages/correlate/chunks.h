// Samples that one float sum takes before it is added to a double sum. They bound the rounding
// error that case.h states.
#pragma once

#include <cstddef>

namespace tautline::stages::correlate {

/// Of float samples. Beyond 256 the additions of doubles cost under 2 % of the time, and rounding
/// errors would go on growing.
inline constexpr std::size_t kFloatChunkSamples = 256;

/// Of halves on matrix units, whose sums are floats: more frequent additions would cost time.
inline constexpr std::size_t kHalfChunkSamples = 4096;

}  // namespace tautline::stages::correlate

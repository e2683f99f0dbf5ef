// The mean of each channel over a piece of a filterbank: the value that replaces missing samples.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tautline/formats/filterbank_reader.h"

namespace tautline::pipeline {

/// Samples that a channel's mean is taken over.
inline constexpr std::uint64_t kMeanSamples = 4096;

/// One spectrum as the reader delivers them: each channel's mean over samples [first, first + count), rounded for
/// integers. Values that are not finite take no part, nor does what
/// holds nothing (docs/design/empty.md).
std::vector<std::byte> channel_means(formats::FilterbankReader& reader, std::uint64_t first,
                                     std::uint64_t count);

}  // namespace tautline::pipeline

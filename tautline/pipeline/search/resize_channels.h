// A spectrum with another number of channels, as scikit-image's resize makes it.
#pragma once

#include <cstddef>
#include <vector>

namespace tautline::pipeline {

/// `image` is [row][channels]; the result [row][wanted]. Fewer channels are smoothed before by a
/// Gaussian of (channels / wanted - 1) / 2; then values are interpolated between the two nearest
/// channels, outside of which everything is 0, and clipped to the range of `image` (and 0 where the
/// result has it): resize(image, (rows, wanted), anti_aliasing=True, mode="constant").
std::vector<float> resize_channels(const std::vector<float>& image, std::size_t channels,
                                   std::size_t wanted);

}  // namespace tautline::pipeline

// Steps of one input's power inside a stream, from its mean power in equal pieces (docs/design/levels.md).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace tautline::stream {

/// Between pieces.
struct StepInside {
  double place = 0;            ///< in pieces, from the first one's begin on
  double within = 1;           ///< of the place, in pieces
  double power_ratio = 1;      ///< after it over before it
  double standard_errors = 0;  ///< of the difference
};

/// Steps, in order of time, of 10 % or more of the power, that last for 16 pieces or more on both sides. `powers`: NaN
/// where an input has no samples.
std::vector<StepInside> find_steps_inside(std::span<const float> powers);

}  // namespace tautline::stream

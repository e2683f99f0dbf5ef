// A step of level (docs/design/empty.md), where two files join or inside a file: what follows has another mean or another
// standard deviation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace tautline::pipeline {

struct LevelStep {
  std::uint64_t sample =
      0;  ///< the first after the step, on the grid of times, as candidates count
  std::string before, after;  ///< the files; the same for a step inside one
  bool of_mean = true;        ///< false: of the standard deviation alone
};

/// Where the level steps and the data are not cut: it rises and returns, or steps too often.
struct UncutLevel {
  std::uint64_t sample = 0,
                samples = 0;  ///< from the first step to the last one, on the grid of times
  /// The steps found: of a rise two, or one where the level returns slowly.
  std::size_t steps = 0;

  bool rises() const { return steps <= 2; }
};

}  // namespace tautline::pipeline

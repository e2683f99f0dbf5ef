// A step of level where two files join (docs/design/empty.md): the next one has another mean or another standard
// deviation.
#pragma once

#include <cstdint>
#include <string>

namespace tautline::pipeline {

struct LevelStep {
  std::uint64_t sample =
      0;  ///< the first after the step, on the grid of times, as candidates count
  std::string before, after;  ///< the files
};

}  // namespace tautline::pipeline

// A join of voltage files at which inputs change their level.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tautline::stream {

/// An input whose mean power changes at the join.
struct InputStep {
  std::size_t input = 0;
  double power_ratio = 1;      ///< after the join over before it
  double standard_errors = 0;  ///< of the difference
};

/// A join and its inputs that step.
struct VoltageStep {
  std::uint64_t sample = 0;   ///< of the stream: the first of the next file
  std::string before, after;  ///< files
  std::vector<InputStep> inputs;
};

}  // namespace tautline::stream

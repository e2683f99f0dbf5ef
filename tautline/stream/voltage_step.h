// Inputs of voltages whose level changes: where files join, or inside a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tautline::stream {

/// An input whose mean power changes.
struct InputStep {
  std::size_t input = 0;
  double power_ratio = 1;      ///< after the step over before it
  double standard_errors = 0;  ///< of the difference
};

/// A time and the inputs that step there.
struct VoltageStep {
  std::uint64_t sample = 0;   ///< of the stream; where files join the first of the next one
  std::string before, after;  ///< files that join; empty: inside a file
  std::vector<InputStep> inputs;
  std::uint64_t within_samples = 0;  ///< how well the sample is known
  double time_s = 0;                 ///< inside a file: since the start of the files, with gaps
};

}  // namespace tautline::stream

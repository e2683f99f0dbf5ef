// The result of trying one candidate: its time, or why it was dropped.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "tautline/jit/configuration.h"

namespace tautline::jit {

enum class Outcome {
  measured,     ///< correct, and timed
  not_built,    ///< the compiler or the stage refused it
  not_run,      ///< the device refused to launch it, or failed while it ran
  wrong,        ///< its output differs from the reference, or was not written
  hung,         ///< no answer in time; its process was killed
  died,         ///< its process ended
  interrupted,  ///< the search was stopped meanwhile; says nothing about the candidate
};

std::string_view to_string(Outcome outcome);
/// Throws Error(format) for another word.
Outcome parse_outcome(std::string_view text);

struct Result {
  Configuration configuration;
  Outcome outcome = Outcome::measured;
  std::string reason;       ///< why it was dropped; empty when measured
  double seconds = 0;       ///< of one run: the median of `samples`
  double spread = 0;        ///< (upper - lower quartile) / median
  std::size_t samples = 0;  ///< number of timings; few for a plainly slow candidate
};

/// One line of JSON, and the result of such a line. Throws Error(format) for other text.
std::string to_json(const Result& result);
Result parse_result(const std::string& line);

}  // namespace tautline::jit

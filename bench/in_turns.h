// A stage on every instruction set of this machine, and what it is compared with, in turns.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tautline/device/device.h"
#include "tautline/pipeline/bench/measure_problem.h"

namespace tautline::bench {

/// The same problem by a plain loop, or by somebody else's library.
struct Baseline {
  std::string name;
  std::function<void()> run = nullptr;  ///< null: not for this problem
};

struct Comparison {
  std::string stage;
  std::vector<std::string> problems;  ///< in the words of `tautline bench`
  /// `host`: with the threads that were asked for.
  Baseline (*baseline)(const pipeline::Problem& sizes,
                       const std::shared_ptr<const device::Device>& host);
};

/// The program: reads the options, prints a table for each problem.
int run(int count, char** arguments, const Comparison& comparison);

}  // namespace tautline::bench

// Candidates tried in a process of their own, which is ended when one hangs, and started again.
#pragma once

#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "tautline/jit/evaluator.h"

namespace tautline::jit {

struct WorkerLimits {
  double prepare_s = 600;  ///< data and reference
  double build_s = 180;  ///< of one candidate: tensor-core kernels take the compiler half a minute
  double run_s = 30;     ///< check and timing of one candidate
};

/// `command` starts a program that calls serve_evaluations. `environment` is set for it over this
/// process's. A stop ends the worker at once; the result is then `interrupted`. Throws
/// Error(device) when a worker does not come up.
std::unique_ptr<Evaluator> make_process_evaluator(std::vector<std::string> command,
                                                  std::map<std::string, std::string> environment,
                                                  WorkerLimits limits, std::stop_token stop);

/// The worker's side: answers requests from file descriptor ChildProcess::kChildIn until there are
/// no more, or the device has failed (then the next worker starts afresh). Returns the number of
/// candidates tried.
std::size_t serve_evaluations(Tunable tunable, std::size_t builders);

}  // namespace tautline::jit

// Candidates are tried in a process of their own, which is ended when a candidate hangs, and
// started again.
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

/// `command` starts a program that calls serve_evaluations. `environment` is added to the
/// environment of this process and overrides it. A stop ends the worker at once; the result is then
/// `interrupted`. Throws Error(device) when no worker starts.
std::unique_ptr<Evaluator> make_process_evaluator(std::vector<std::string> command,
                                                  std::map<std::string, std::string> environment,
                                                  WorkerLimits limits, std::stop_token stop);

/// The worker's side: answers requests from file descriptor ChildProcess::kChildIn until the last
/// one, or until the device has failed (then a new worker is started). Returns the number of
/// candidates tried.
std::size_t serve_evaluations(Tunable tunable, std::size_t builders);

}  // namespace tautline::jit

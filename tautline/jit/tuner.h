// A whole tuning run: worker, search, results on disk, wisdom.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "tautline/jit/evaluator.h"
#include "tautline/jit/process_evaluator.h"
#include "tautline/jit/search.h"
#include "tautline/jit/tunable.h"
#include "tautline/jit/tuning_summary.h"

namespace tautline::jit {

struct TunerOptions {
  StrategyKind strategy = StrategyKind::guided;
  std::uint64_t seed = 1;
  double budget_s = 60;
  std::size_t most_candidates = 0;  ///< 0: no limit
  WorkerLimits limits;
  /// Where the workers keep what they compile, for several problems whose kernels are the same;
  /// empty: a folder of each problem's own. The caller removes it.
  std::filesystem::path programs_folder{};
  /// Of the results that a later run goes on from; empty: the cache folder, if there is one.
  std::filesystem::path results_folder{};
  bool fresh = false;        ///< earlier results are put aside
  std::size_t builders = 0;  ///< candidates that a worker builds ahead, in threads
  std::vector<Configuration> starts{};
  std::function<void(const Result&)> on_result{};
  std::function<void(const SearchProgress&)> on_progress{};
  /// What the user should hear: results that could not be kept, say.
  std::function<void(const std::string&)> on_warning{};
  std::stop_token stop{};
};

/// Searches in a worker that `worker_command` starts (it calls serve_evaluations with an equal
/// tunable). `tunable` itself is only read here. What the worker compiles is kept in a folder of
/// its own that is removed afterwards, unless options.programs_folder names one. Throws
/// Error(device) when no worker comes up.
TunedProblem tune(std::string name, const Tunable& tunable,
                  const std::vector<std::string>& worker_command, const TunerOptions& options);

/// Appends the winner to the user's wisdom; nothing when there is none, or the search was stopped.
/// Throws Error(io).
void keep_winner(const TunedProblem& problem);

/// The worker that `worker_command` starts, with a folder for what it compiles, as tune() has it.
std::unique_ptr<Evaluator> make_worker(const std::vector<std::string>& worker_command,
                                       const TunerOptions& options);

}  // namespace tautline::jit

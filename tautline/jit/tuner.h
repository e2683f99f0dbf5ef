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
  /// The folder in which workers keep compiled programs, for several problems with the same
  /// kernels; empty: each problem has a folder of its own. The caller removes the folder.
  std::filesystem::path programs_folder{};
  /// The folder of the results from which a later run continues; empty: the cache folder, if there
  /// is one.
  std::filesystem::path results_folder{};
  bool fresh = false;        ///< earlier results are put aside
  std::size_t builders = 0;  ///< candidates that a worker builds ahead, in threads
  std::vector<Configuration> starts{};
  std::function<void(const Result&)> on_result{};
  std::function<void(const TuningSearchProgress&)> on_progress{};
  /// Messages for the user, for example about results that could not be kept.
  std::function<void(const std::string&)> on_warning{};
  std::stop_token stop{};
};

/// Searches in a worker that `worker_command` starts (the worker calls serve_evaluations with an
/// equal tunable). This process only reads `tunable`. The programs that the worker compiles are
/// kept in a folder of its own that is removed afterwards, unless options.programs_folder names
/// one. Throws Error(device) when no worker starts.
TunedProblem tune(std::string name, const Tunable& tunable,
                  const std::vector<std::string>& worker_command, const TunerOptions& options);

/// Appends the winner to the user's wisdom; appends nothing when there is no winner, or the search
/// was stopped. Throws Error(io).
void keep_winner(const TunedProblem& problem);

/// The worker that `worker_command` starts, with a folder for compiled programs, as tune() has it.
std::unique_ptr<Evaluator> make_worker(const std::vector<std::string>& worker_command,
                                       const TunerOptions& options);

}  // namespace tautline::jit

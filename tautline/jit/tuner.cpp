#include "tautline/jit/tuner.h"

#include <cstdlib>
#include <map>
#include <optional>
#include <system_error>
#include <utility>

#include "tautline/core/error.h"
#include "tautline/jit/result_log.h"
#include "tautline/jit/wisdom.h"

namespace tautline::jit {

namespace {

// A folder for files of candidates, removed together with its owner.
class ScratchFolder {
 public:
  explicit ScratchFolder(const std::filesystem::path& given) : given_(given) {
    if (!given.empty()) return;
    std::error_code error;
    std::string name =
        (std::filesystem::temp_directory_path(error) / "tautline-tune-XXXXXX").string();
    if (!error && ::mkdtemp(name.data()) != nullptr) path_ = name;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  // Compiled candidates would needlessly fill the caches of the user, ours and those of OpenCL
  // drivers.
  std::map<std::string, std::string> environment() const {
    const std::string folder = given_.empty() ? path_ : given_.string();
    if (folder.empty()) return {};
    return {{"TAUTLINE_CACHE", folder}, {"XDG_CACHE_HOME", folder}};
  }

 private:
  std::filesystem::path given_;  // not removed
  std::string path_;
};

// A worker and its folder, which is removed after the worker has ended.
class Worker final : public Evaluator {
 public:
  Worker(const std::vector<std::string>& command, const TunerOptions& options)
      : scratch_(options.programs_folder),
        process_(make_process_evaluator(command, scratch_.environment(), options.limits,
                                        options.stop)) {}

  void expect(std::span<const Configuration> next) override { process_->expect(next); }
  Result evaluate(const Request& request) override { return process_->evaluate(request); }

 private:
  ScratchFolder scratch_;
  std::unique_ptr<Evaluator> process_;
};

void warn(const TunerOptions& options, const std::string& text) {
  if (options.on_warning) options.on_warning(text);
}

std::optional<ResultLog> open_log(const Tunable& tunable, const TunerOptions& options) {
  auto path = result_log_path(tunable.key);
  if (!options.results_folder.empty()) path = options.results_folder / path.filename();
  try {
    std::error_code ignored;
    if (options.fresh) std::filesystem::rename(path, path.string() + ".old", ignored);
    ResultLog log(path, tunable.key, tunable.space);
    if (log.damaged_lines() > 0)
      warn(options, path.string() + ": " + std::to_string(log.damaged_lines()) +
                        " damaged lines passed over");
    return log;
  } catch (const core::Error& error) {
    warn(options, std::string("a search that is stopped will start again: ") + error.what());
    return {};
  }
}

// A full disk must not end a search.
void keep(const std::optional<ResultLog>& log, const Result& result, const TunerOptions& options) {
  if (options.on_result) options.on_result(result);
  if (!log) return;
  try {
    log->append(result);
  } catch (const core::Error& error) {
    warn(options, error.what());
  }
}

}  // namespace

TunedProblem tune(std::string name, const Tunable& tunable,
                  const std::vector<std::string>& worker_command, const TunerOptions& options) {
  TunedProblem problem{std::move(name),    tunable.key,      tunable.space,
                       tunable.operations, tunable.unit,     options.strategy,
                       options.seed,       options.budget_s, {}};
  const auto log = open_log(tunable, options);
  const auto evaluator = make_worker(worker_command, options);
  TuningSearchOptions search_options;
  search_options.strategy = options.strategy;
  search_options.seed = options.seed;
  search_options.budget_s = options.budget_s;
  search_options.most_candidates = options.most_candidates;
  search_options.ahead = options.builders;
  search_options.starts = options.starts;
  if (log) search_options.known = log->earlier();
  search_options.on_result = [&](const Result& result) { keep(log, result, options); };
  search_options.on_progress = options.on_progress;
  search_options.stop = options.stop;
  problem.report = search(tunable.space, *evaluator, search_options);
  return problem;
}

void keep_winner(const TunedProblem& problem) {
  const Result* best = problem.report.best();
  if (best == nullptr || problem.report.stopped) return;
  WisdomEntry entry{problem.key, best->configuration, best->seconds, best->spread, 0, {}, {}};
  const auto& default_result = problem.report.default_result;
  if (default_result && default_result->outcome == Outcome::measured)
    entry.default_seconds = default_result->seconds;
  append_wisdom(wisdom_path(), std::move(entry));
}

std::unique_ptr<Evaluator> make_worker(const std::vector<std::string>& worker_command,
                                       const TunerOptions& options) {
  return std::make_unique<Worker>(worker_command, options);
}

}  // namespace tautline::jit

// tautline tune: finds the fastest configuration of a stage's kernels, and remembers it.
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/prctl.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <map>
#include <thread>

#include "cli/command.h"
#include "cli/common_options.h"
#include "cli/field_options.h"
#include "cli/interrupts.h"
#include "tautline/core/error.h"
#include "tautline/formats/partial_file.h"
#include "tautline/jit/compare_problems.h"
#include "tautline/jit/tuner.h"
#include "tautline/jit/tuning_sweep.h"
#include "tautline/jit/wisdom.h"
#include "tautline/pipeline/bench/measure_problem.h"
#include "tautline/pipeline/bench/tune_stage.h"

namespace tautline::cli {

namespace {

using jit::Outcome;
using jit::Result;
using jit::StrategyKind;
using jit::TunedProblem;

struct TuneOptions {
  std::string stage;
  std::vector<std::string> problems;
  jit::TunerOptions tuner;
  std::string report, fixed, sweep;
};

// This command again, as the process that candidates run in.
std::vector<std::string> worker_command(const Global& global, const TuneOptions& options,
                                        const std::string& problem) {
  std::vector<std::string> words{std::filesystem::read_symlink("/proc/self/exe").string(),
                                 "--device",
                                 global.device,
                                 "--threads",
                                 std::to_string(global.threads),
                                 "--log-level",
                                 "error"};
  if (!global.device_memory.empty())
    words.insert(words.end(), {"--device-memory", global.device_memory});
  words.insert(words.end(), {"tune-worker", options.stage, "--problem", problem});
  return words;
}

// Compiling beside timing disturbs the timing where both need the same cores.
std::size_t builders(const device::Device& device) {
  constexpr std::size_t kMost = 4;
  if (device.compiles() && device.properties().host_cpu) return 0;
  return std::clamp<std::size_t>(std::thread::hardware_concurrency() / 2, 1, kMost);
}

double rate_or_zero(const TunedProblem& problem, double seconds) {
  return seconds > 0 ? problem.rate(seconds) : 0;
}

void print_result_tune(const TuneOptions& options, const std::string& problem,
                       const Result& result) {
  nlohmann::ordered_json line{{"stage", options.stage},
                              {"problem", problem},
                              {"configuration", result.configuration},
                              {"outcome", jit::to_string(result.outcome)}};
  if (result.outcome == Outcome::measured)
    line.update({{"seconds", result.seconds}, {"spread", result.spread}});
  else
    line["reason"] = result.reason;
  print_json("tautline.tuning_result", 1, line);
}

void print_winner_json(const TunedProblem& problem) {
  const Result* best = problem.report.best();
  nlohmann::ordered_json line{{"stage", problem.key.stage},
                              {"problem", problem.name},
                              {"device", problem.key.product},
                              {"api", problem.key.api},
                              {"tried", problem.report.results.size()},
                              {"legal", problem.report.legal},
                              {"whole_space", problem.report.whole_space},
                              {"strategy", jit::to_string(problem.strategy)},
                              {"seed", problem.seed},
                              {"elapsed_s", problem.report.elapsed_s},
                              {"configuration", nullptr}};
  if (best != nullptr) {
    line["configuration"] = best->configuration;
    line.update({{"seconds", best->seconds},
                 {"spread", best->spread},
                 {"rate", problem.rate(best->seconds)},
                 {"unit", problem.unit},
                 {"gain_over_default", jit::gain_over_default(problem)}});
  }
  print_json("tautline.tuned", 1, line);
}

void print_winner(const TunedProblem& problem) {
  const jit::TuningSearchReport& report = problem.report;
  std::map<std::string_view, std::size_t> dropped;
  for (const Result& result : report.results)
    if (result.outcome != Outcome::measured) ++dropped[jit::to_string(result.outcome)];
  std::string losses;
  for (const auto& [name, count] : dropped) losses += fmt::format(", {} {}", count, name);
  fmt::print("{} {}: {} candidates tried in {:.0f} s ({}, seed {}{}){}\n", problem.key.stage,
             problem.name, report.results.size(), report.elapsed_s,
             jit::to_string(problem.strategy), problem.seed,
             report.known > 0 ? fmt::format(", {} known from before", report.known) : "", losses);
  const Result* best = report.best();
  if (best == nullptr) {
    fmt::print("  no candidate could run\n");
    return;
  }
  const double gain = jit::gain_over_default(problem);
  fmt::print("  best {:.4g} ms, spread {:.1f} %, {:.4g} G {}{}\n  {}\n", 1e3 * best->seconds,
             100 * best->spread, rate_or_zero(problem, best->seconds) / 1e9, problem.unit,
             gain > 0 ? fmt::format(", {:.3f} x the default", gain) : ", the default cannot run",
             jit::describe(best->configuration));
}

void print_fixed(const std::vector<TunedProblem>& problems) {
  const auto fixed = jit::best_fixed(problems);
  if (problems.size() < 2 || !fixed) return;
  fmt::print("best fixed configuration for all problems: {}\n",
             jit::describe(fixed->configuration));
  for (std::size_t p = 0; p < problems.size(); ++p)
    fmt::print("  {}: tuning gains {:.3f} x over it\n", problems[p].name, 1 / fixed->fractions[p]);
}

void write_text(const std::filesystem::path& path, const std::string& text) {
  formats::PartialFile file(path.string(), true);
  file.write(text);
  file.finish();
}

void write_report(const TuneOptions& options, const std::vector<TunedProblem>& problems) {
  const std::filesystem::path folder = options.report;
  const std::string stem = "tuning-" + options.stage;
  write_text(folder / (stem + ".json"), jit::report_json(problems) + "\n");
  write_text(folder / (stem + ".html"), jit::report_page(problems));
  spdlog::info("report in {}", (folder / (stem + ".html")).string());
}

void show_progress(ProgressLine& line, const TuneOptions& options, const std::string& name,
                   const jit::TuningSearchProgress& p) {
  const double budget_s = options.tuner.budget_s;
  const double of_budget = budget_s > 0 ? p.elapsed_s / budget_s : 0;
  const double of_space =
      p.total > 0 ? static_cast<double>(p.tried) / static_cast<double>(p.total) : 0;
  line.show(p.final_rounds ? 1 : std::min(1.0, std::max(of_budget, of_space)),
            fmt::format("{} {}: {} tried, best {:.4g} ms{}", options.stage, name, p.tried,
                        1e3 * p.best_s, p.final_rounds ? ", timing the best few again" : ""));
}

jit::TunerOptions tuner_options(const Global& global, const TuneOptions& options) {
  jit::TunerOptions tuner = options.tuner;
  tuner.results_folder = options.report;
  tuner.stop = global.stop;
  tuner.on_warning = [](const std::string& text) { spdlog::warn("{}", text); };
  return tuner;
}

// Results are shown even where they could not be stored.
bool keep(const TunedProblem& problem) {
  try {
    jit::keep_winner(problem);
    return true;
  } catch (const core::Error& error) {
    spdlog::error("what was found is not remembered: {}", error.what());
    return false;
  }
}

TunedProblem tune_one(const Global& global, const TuneOptions& options, jit::TunerOptions tuner,
                      const std::string& problem, const jit::Tunable& tunable) {
  ProgressLine line(global);
  tuner.on_progress = [&](const jit::TuningSearchProgress& p) {
    show_progress(line, options, problem, p);
  };
  tuner.on_result = [&](const Result& result) {
    if (global.json) print_result_tune(options, problem, result);
    if (result.outcome != Outcome::measured)
      spdlog::debug("dropped, {}: {}: {}", jit::to_string(result.outcome),
                    jit::describe(result.configuration), result.reason);
  };
  return jit::tune(problem, tunable, worker_command(global, options, problem), tuner);
}

// Beside each other; winners that this changes are remembered too. False when they could not be.
bool compare_all(const Global& global, const TuneOptions& options, const jit::TunerOptions& tuner,
                 std::vector<TunedProblem>& problems) {
  std::vector<jit::Configuration> winners;
  for (const TunedProblem& problem : problems)
    winners.push_back(problem.report.best() ? problem.report.best()->configuration
                                            : jit::Configuration());
  jit::compare_problems(
      problems,
      [&](const TunedProblem& problem) {
        return jit::make_worker(worker_command(global, options, problem.name), tuner);
      },
      tuner);
  bool good = true;
  for (std::size_t p = 0; p < problems.size(); ++p) {
    const Result* best = problems[p].report.best();
    const bool changed = best != nullptr && best->configuration != winners[p];
    if (changed && options.fixed.empty()) good = keep(problems[p]) && good;
  }
  return good;
}

// All are made before the first is searched: a mistake in the last should not cost the others'
// time.
std::vector<jit::Tunable> make_tunables(const TuneOptions& options,
                                        const std::vector<std::string>& problems,
                                        const std::shared_ptr<const device::Device>& device) {
  const auto fixed = jit::parse_configuration("--fix", options.fixed);
  std::vector<jit::Tunable> tunables;
  for (const std::string& problem : problems) {
    tunables.push_back(pipeline::make_tunable(options.stage, problem, device));
    tunables.back().space = tunables.back().space.fixed(fixed);
  }
  return tunables;
}

int print_all(const Global& global, const TuneOptions& options,
              const std::vector<TunedProblem>& tuned, bool good) {
  for (const TunedProblem& problem : tuned)
    global.json ? print_winner_json(problem) : print_winner(problem);
  if (!global.json) print_fixed(tuned);
  if (!options.report.empty()) write_report(options, tuned);
  if (global.stop.stop_requested()) {
    spdlog::warn("stopped; the same command goes on from here");
    return interrupted_status();
  }
  if (!good) return kFailed;
  if (!options.fixed.empty())
    spdlog::info("not remembered: --fix left only a part to search");
  else
    spdlog::info("wisdom in {}", jit::wisdom_path().string());
  return kDone;
}

// Each problem at each size of a sweep.
std::vector<std::string> problems_of(const TuneOptions& options) {
  const auto named =
      options.problems.empty() ? pipeline::tuning_problems(options.stage) : options.problems;
  if (options.sweep.empty()) return named;
  const pipeline::SweptSize sweep = pipeline::parse_sweep(options.sweep);
  std::vector<std::string> problems;
  for (const std::string& problem : named)
    for (const std::size_t value : sweep.values)
      problems.push_back(jit::swept_name(problem, sweep.key, value));
  return problems;
}

// What the candidates of a sweep compile, as long as it takes: most sizes share their kernels.
class ProgramsFolder {
 public:
  explicit ProgramsFolder(const TuneOptions& options) {
    if (options.sweep.empty() || options.report.empty()) return;
    path_ = std::filesystem::path(options.report) / "programs";
    std::filesystem::create_directories(path_);
  }
  ~ProgramsFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  ProgramsFolder(const ProgramsFolder&) = delete;
  ProgramsFolder& operator=(const ProgramsFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

int run_tune(const Global& global, const TuneOptions& options) {
  say_when_ended("stopped; the same command goes on from here");
  jit::TunerOptions tuner = tuner_options(global, options);
  const auto problems = problems_of(options);
  const auto device = open_device(global);
  const auto tunables = make_tunables(options, problems, device);
  tuner.builders = builders(*device);
  if (!options.report.empty()) std::filesystem::create_directories(options.report);
  const ProgramsFolder programs(options);
  tuner.programs_folder = programs.path();
  std::vector<TunedProblem> tuned;
  bool good = true;
  for (std::size_t p = 0; p < problems.size() && !global.stop.stop_requested(); ++p) {
    tuned.push_back(tune_one(global, options, tuner, problems[p], tunables[p]));
    if (tuned.back().report.stopped) break;
    const Result* best = tuned.back().report.best();
    // The best of a part of the space must not stand in for that of all.
    const bool whole = options.fixed.empty();
    good = best != nullptr && (!whole || keep(tuned.back())) && good;
    // A configuration that is good for one problem is tried for the next.
    // A sweep compares the same candidates at every size.
    if (best != nullptr && options.sweep.empty()) tuner.starts.push_back(best->configuration);
  }
  if (tuned.size() > 1 && !global.stop.stop_requested())
    good = compare_all(global, options, tuner, tuned) && good;
  return print_all(global, options, tuned, good);
}

int serve(const Global& global, const TuneOptions& options) {
  // A worker must not outlive the search that it serves, hung or not.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const auto device = open_device(global);
  jit::serve_evaluations(pipeline::make_tunable(options.stage, options.problems.at(0), device),
                         builders(*device));
  return kDone;
}

std::string problem_names() {
  std::string text;
  for (const std::string& stage : pipeline::tunable_stages()) {
    text += (text.empty() ? "of " : "; of ") + stage + ":";
    for (const std::string& problem : pipeline::tuning_problems(stage)) text += " " + problem;
  }
  return text;
}

}  // namespace

void add_tune(CLI::App& app, const Global& global, Action& action) {
  auto* command = app.add_subcommand("tune", "finds the fastest configuration of a stage on a GPU");
  auto options = std::make_shared<TuneOptions>();
  std::string stages;
  for (const std::string& stage : pipeline::tunable_stages())
    stages += (stages.empty() ? "" : " or ") + stage;
  command->add_option("stage", options->stage, stages)->required();
  add_problem(*command, options->problems,
              "a name (" + problem_names() +
                  "), sizes as inputs=64,channels=128,samples=4096,bits=8, or both; default: all "
                  "names");
  jit::TunerOptions& tuner = options->tuner;
  add_own(*command, tuner.strategy, {.name = "strategy", .help = "how to search"},
          core::choice<StrategyKind>({{"exhaustive", StrategyKind::exhaustive},
                                      {"random", StrategyKind::random},
                                      {"guided", StrategyKind::guided}}));
  add_own(
      *command, tuner.budget_s,
      {.name = "budget_s", .unit = "s", .help = "how long to search, each problem, 0: to the end"},
      core::plain_text<double>(core::at_least(0)));
  add_own(*command, tuner.seed, {.name = "seed", .help = "of the random choices"});
  add_own(*command, tuner.most_candidates,
          {.name = "candidates",
           .help = "to try at most, each problem, 0: as many as the budget allows for"});
  command->add_option(
      "--sweep", options->sweep,
      "each problem at many sizes, as trials=2:4096 (doubling): the report then has "
      "rates, the optimum's distance from the mean and the gain over the best fixed "
      "configuration against the size");
  add_own(*command, tuner.limits.run_s,
          {.name = "limit_s",
           .unit = "s",
           .help = "how long a candidate may run before it counts as hung"},
          core::plain_text<double>(core::above(0)));
  add_report_output(*command, options->report, "folder for the results, a JSON report and a page");
  command->add_option(
      "--fix", options->fixed,
      "tunables that keep a value, as design=1: for a look at a part; the winner is "
      "not remembered");
  command->add_flag("--fresh", tuner.fresh, "forget the results of earlier runs");
  command->footer(
      "Example: tautline --device cuda:0 tune correlate --problem n256 --budget 300 "
      "--report tuning");
  when_chosen(*command, global, action, options, run_tune);
}

void add_tune_worker(CLI::App& app, const Global& global, Action& action) {
  auto* command = app.add_subcommand("tune-worker", "")->group("");
  auto options = std::make_shared<TuneOptions>();
  command->add_option("stage", options->stage)->required();
  command->add_option("--problem", options->problems)->required();
  when_chosen(*command, global, action, options, serve);
}

}  // namespace tautline::cli

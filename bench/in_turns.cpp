#include "bench/in_turns.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>

#include "tautline/core/error.h"
#include "tautline/core/stopwatch.h"
#include "tautline/jit/timing.h"
#include "tautline/pipeline/bench/stage_table.h"

namespace tautline::bench {

namespace {

using device::InstructionSet;

struct Options {
  std::size_t threads = 2, rounds = 9;
  std::vector<std::string> sets, problems;
  bool no_baseline = false;
};

struct Entry {
  pipeline::StageRun run;
  std::vector<double> seconds = {};
};

// Where an instruction set has no code of its own, the stage runs that of a lesser one.
std::vector<Entry> entries_of(const Comparison& comparison, const std::string& problem,
                              const Options& options) {
  const auto& stage = pipeline::find_stage(comparison.stage);
  std::vector<Entry> entries;
  const auto sizes = [&](const device::Device& device) {
    return pipeline::complete(stage.name, stage.sizes_on(device),
                              pipeline::parse_problem(stage.name, problem));
  };
  for (const std::string& name : options.sets) {
    const auto device =
        device::open(device::parse_selection("cpu:" + name), {.threads = options.threads});
    auto run = stage.set_up(sizes(*device), device);
    const auto same = [&](const Entry& entry) { return entry.run.code == run.code; };
    if (std::none_of(entries.begin(), entries.end(), same)) entries.push_back({std::move(run)});
  }
  if (options.no_baseline || entries.empty()) return entries;
  const auto host = device::open({}, {.threads = options.threads});
  const Baseline baseline = comparison.baseline(sizes(*host), host);
  if (baseline.run == nullptr) return entries;
  Entry entry{entries.front().run};
  entry.run.code = baseline.name;
  entry.run.run = baseline.run;
  entries.push_back(std::move(entry));
  return entries;
}

void compare(const Comparison& comparison, const std::string& problem, const Options& options) {
  std::vector<Entry> entries = entries_of(comparison, problem, options);
  for (Entry& entry : entries) entry.run.run();  // caches, pages and clocks warm up
  for (std::size_t round = 0; round < options.rounds; ++round)
    for (Entry& entry : entries) {
      const auto start = core::Clock::now();
      entry.run.run();
      entry.seconds.push_back(core::seconds_since(start));
    }
  const double last = entries.empty() ? 0 : jit::summarise(entries.back().seconds).seconds;
  fmt::print("{} {}, {} threads, {} rounds\n", comparison.stage, problem, options.threads,
             options.rounds);
  for (const Entry& entry : entries) {
    const jit::Timing timing = jit::summarise(entry.seconds);
    fmt::print("  {:10.3f} ms  spread {:4.1f} %  {:9.4g} G {}", 1e3 * timing.seconds,
               100 * timing.spread, entry.run.count / timing.seconds / 1e9, entry.run.unit);
    if (entry.run.data_s > 0)
      fmt::print("  {:7.3g} x real time", entry.run.data_s / timing.seconds);
    fmt::print("  {:6.2f} x the last  {}\n", last / timing.seconds, entry.run.code);
  }
  std::fflush(stdout);
}

}  // namespace

int run(int count, char** arguments, const Comparison& comparison) {
  Options options;
  CLI::App app("Medians of rounds in which all take turns");
  app.add_option("--threads", options.threads)->capture_default_str();
  app.add_option("--rounds", options.rounds)->capture_default_str();
  app.add_option("--sets", options.sets,
                 "instruction sets, as avx2,vnni; default: all that run here")
      ->delimiter(',');
  app.add_option("--problem", options.problems, "as tautline bench takes it; may be repeated")
      ->allow_extra_args(false);
  app.add_flag("--no-baseline", options.no_baseline, "the stage alone");
  CLI11_PARSE(app, count, arguments);
  const bool all_sets = options.sets.empty();
  if (options.problems.empty()) options.problems = comparison.problems;
  for (const auto set : {InstructionSet::portable, InstructionSet::avx2, InstructionSet::avx512,
                         InstructionSet::vnni, InstructionSet::amx})
    if (all_sets && device::supported(set)) options.sets.emplace_back(device::to_string(set));
  try {
    for (const std::string& problem : options.problems) compare(comparison, problem, options);
  } catch (const core::Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
  return 0;
}

}  // namespace tautline::bench

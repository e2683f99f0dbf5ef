// tautline bench: measured rates beside the device's limits.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>

#include "cli/command.h"
#include "cli/common_options.h"
#include "cli/field_options.h"
#include "cli/interrupts.h"
#include "cli/limits.h"
#include "tautline/core/error.h"
#include "tautline/pipeline/bench/measure_problem.h"
#include "tautline/pipeline/bench/measure_stage.h"

namespace tautline::cli {

namespace {

struct BenchOptions {
  std::vector<std::string> stages, problems;
  std::string sweep;
  double budget_s = 1.0;
};

nlohmann::ordered_json json_line(const pipeline::Measurement& m, const pipeline::Limits& limits) {
  const auto or_null = [](const std::optional<double>& value) {
    return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json();
  };
  nlohmann::ordered_json line{{"stage", m.stage},
                              {"problem", m.problem},
                              {"device", m.device},
                              {"instruction_set", m.instruction_set},
                              {"seconds", m.seconds},
                              {"spread", m.spread},
                              {"burst_seconds", or_null(m.burst_seconds)},
                              {"operations", m.operations},
                              {"bytes", m.bytes},
                              {"rate", m.rate},
                              {"unit", m.unit},
                              {"fraction_of_limit", m.fraction_of_limit},
                              {"limit", m.limit},
                              {"bandwidth_hz", m.has_inputs ? nlohmann::ordered_json(m.bandwidth_hz)
                                                            : nlohmann::ordered_json()},
                              {"real_time_factor", or_null(m.real_time_factor)},
                              {"energy_j", or_null(m.energy_j)},
                              {"operations_per_j", nullptr},
                              {"power_w", or_null(m.power_w)},
                              {"limits", limits_json(limits)}};
  if (m.energy_j && m.operations > 0) line["operations_per_j"] = m.operations / *m.energy_j;
  return line;
}

// The problems of a table in a column as wide as they need, at most kMostWidth; wider ones stand on
// a line of their own. The code that ran is known last and comes last.
class Table {
 public:
  void make_room(const std::string& problem) {
    if (problem.size() <= kMostWidth) width_ = std::max(width_, problem.size());
  }

  void print_heading() const {
    fmt::print("{:<22} {:<{}} {:>12} {:>8} {:>28} {:>9} {:<10}  {}\n", "stage", "problem", width_,
               "median s", "spread", "rate", "of", "limit", "code");
  }

  void print_row(const pipeline::Measurement& m) const {
    const bool fits = m.problem.size() <= width_;
    fmt::print("{:<22} {:<{}} {:>12.6f} {:>7.1f}% {:>28} {:>8.1f}% {:<10}  {}\n", m.stage,
               fits ? m.problem : "(below)", width_, m.seconds, 100 * m.spread,
               fmt::format("{:.4g} G {}", m.rate / 1e9, m.unit), 100 * m.fraction_of_limit, m.limit,
               m.instruction_set);
    if (!fits) fmt::print("{:<22} {}\n", "", m.problem);
    const std::string more = more_of(m);
    if (!more.empty()) fmt::print("{:<22} {}\n", "", more);
  }

 private:
  static std::string more_of(const pipeline::Measurement& m) {
    std::vector<std::string> parts;
    if (m.has_inputs) parts.push_back("bandwidth of an input " + with_prefix(m.bandwidth_hz, "Hz"));
    if (m.burst_seconds)
      parts.push_back(fmt::format("{:.4g} G {} in bursts",
                                  m.rate * m.seconds / *m.burst_seconds / 1e9, m.unit));
    if (m.real_time_factor) parts.push_back(fmt::format("{:.4g} x real time", *m.real_time_factor));
    if (m.energy_j && m.power_w && m.operations > 0)
      parts.push_back(fmt::format(
          "{} ({:.0f} W)", with_prefix(m.operations / *m.energy_j, " operations/J"), *m.power_w));
    return fmt::format("{}", fmt::join(parts, ", "));
  }

  static constexpr std::size_t kMostWidth = 60;
  std::size_t width_ = 7;  // of the heading and "(below)"
};

// "host_fed" and "run" stand for all of them; nothing for every stage.
std::vector<std::string> stages_asked(const BenchOptions& options) {
  if (options.stages.empty()) return pipeline::measurable_stages();
  std::vector<std::string> stages;
  for (const std::string& name : options.stages) {
    const auto part = name == "host_fed" ? pipeline::host_fed_stages()
                      : name == "run"    ? pipeline::whole_runs()
                                         : std::vector<std::string>{name};
    stages.insert(stages.end(), part.begin(), part.end());
  }
  return stages;
}

// Each problem asked for, at each value of the sweep.
std::vector<pipeline::Problem> problems_asked(const std::string& stage,
                                              const BenchOptions& options) {
  std::vector<pipeline::Problem> problems;
  for (const std::string& text : options.problems)
    problems.push_back(pipeline::parse_problem(stage, text));
  if (problems.empty()) problems.emplace_back();
  if (options.sweep.empty()) return problems;
  const pipeline::SweptSize sweep = pipeline::parse_sweep(options.sweep);
  std::vector<pipeline::Problem> swept;
  for (const pipeline::Problem& problem : problems)
    for (const std::size_t value : sweep.values) {
      swept.push_back(problem);
      swept.back()[sweep.key] = value;
    }
  return swept;
}

int run_bench(const Global& global, const BenchOptions& options) {
  const auto devices = open_devices(global);
  const auto& device = devices.front();
  const auto stages = stages_asked(options);
  std::vector<std::vector<pipeline::Problem>> problems;
  Table table;
  for (const std::string& stage : stages) {
    problems.push_back(problems_asked(stage, options));
    // Unknown names are refused before anything is measured.
    for (const pipeline::Problem& problem : problems.back())
      table.make_room(pipeline::describe_asked(stage, problem, *device));
  }
  const auto limits = pipeline::measure_limits(device);
  if (!global.json) {
    fmt::print("{}\n{}", device->name(), limits_text(limits));
    table.print_heading();
  }
  bool all = true;
  for (std::size_t s = 0; s < stages.size(); ++s) {
    for (const pipeline::Problem& problem : problems[s]) try {
        if (global.stop.stop_requested()) {
          spdlog::warn("stopped before {} {}", stages[s], pipeline::describe(problem));
          return interrupted_status();
        }
        say_when_ended(fmt::format("stopped before {} {} was measured", stages[s],
                                   pipeline::describe(problem)));
        const auto m =
            pipeline::measure_stage(stages[s], problem, devices, limits, options.budget_s);
        if (global.json)
          print_json("tautline.bench", 1, json_line(m, limits));
        else
          table.print_row(m);
        flush_output();
        if (m.profile && global.profile) print_message(engine::to_text(*m.profile));
      } catch (const core::Error& error) {
        // Not every stage has code for every device, and a sweep ends where memory does.
        const bool skip_stage =
            error.kind() == core::ErrorKind::unsupported && options.stages.empty();
        const bool end_sweep = error.kind() == core::ErrorKind::memory && !options.sweep.empty();
        // Of several problems the others are worth having.
        const bool go_on = options.problems.size() > 1;
        if (!skip_stage && !end_sweep && !go_on) throw;
        spdlog::warn("{} {} left out: {}", stages[s], pipeline::describe(problem), error.what());
        if (skip_stage || end_sweep) break;
        all = false;
      }
  }
  return all ? kDone : kFailed;
}

std::string problem_help() {
  std::string text = "sizes, as inputs=64,channels=128, or a name:";
  auto stages = pipeline::measurable_stages();
  const auto fed = pipeline::host_fed_stages();
  stages.insert(stages.end(), fed.begin(), fed.end());
  const auto runs = pipeline::whole_runs();
  stages.insert(stages.end(), runs.begin(), runs.end());
  for (const std::string& stage : stages)
    for (const std::string& name : pipeline::problem_names(stage))
      text += fmt::format(" {} {},", stage, name);
  text.back() = ';';
  return text + " or a name and sizes: n256,bits=32";
}

}  // namespace

void add_bench(CLI::App& app, const Global& global, Action& action) {
  auto* command = app.add_subcommand("bench", "measured rates beside the device's limits");
  auto options = std::make_shared<BenchOptions>();
  std::string stages;
  for (const std::string& name : pipeline::measurable_stages()) stages += name + ", ";
  command->add_option("stage", options->stages,
                      stages +
                          "host_fed (data in the host's memory), run (whole runs from files in "
                          "TMPDIR); default: the "
                          "stages");
  add_problem(*command, options->problems, problem_help());
  command->add_option("--sweep", options->sweep,
                      "one size at many values: inputs=16:2048 doubles, inputs=64:1024:64 steps, "
                      "taps=4/8/16 lists");
  add_own(*command, options->budget_s,
          {.name = "budget_s", .unit = "s", .help = "how long to repeat each"},
          core::plain_text<double>(core::at_least(0)));
  command->footer("Example: tautline --device cuda:0 bench correlate --problem n256");
  when_chosen(*command, global, action, options, run_bench);
}

}  // namespace tautline::cli

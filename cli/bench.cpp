// tautline bench: measured rates beside the device's limits.
#include <fmt/format.h>

#include "cli/command.h"
#include "tautline/pipeline/measure_stage.h"

namespace tautline::cli {

namespace {

struct Options {
  std::vector<std::string> stages;
  std::string problem;
  double budget_s = 1.0;
};

int run(const Global& global, const Options& options) {
  const auto device = open_device(global);
  const auto limits = device::cpu::measure_limits(*device);
  if (!global.json) {
    fmt::print("{}: copy {:.1f} GB/s, float {:.1f} G operations/s, int8 {:.1f} G operations/s\n",
               device->name(), limits.copy_bytes_per_s / 1e9, limits.float_operations_per_s / 1e9,
               limits.int8_operations_per_s / 1e9);
    fmt::print("{:<12} {:<42} {:<22} {:>12} {:>8} {:>28} {:>9}\n", "stage", "problem", "code",
               "median s", "spread", "rate", "of limit");
  }
  const auto stages = options.stages.empty() ? pipeline::measurable_stages() : options.stages;
  for (const std::string& stage : stages) {
    const auto m = pipeline::measure_stage(stage, pipeline::parse_problem(options.problem), device,
                                           limits, options.budget_s);
    if (global.json)
      print_json("tautline.bench", 1,
                 {{"stage", m.stage},
                  {"problem", m.problem},
                  {"device", m.device},
                  {"instruction_set", m.instruction_set},
                  {"seconds", m.seconds},
                  {"spread", m.spread},
                  {"operations", m.operations},
                  {"bytes", m.bytes},
                  {"rate", m.rate},
                  {"unit", m.unit},
                  {"fraction_of_limit", m.fraction_of_limit}});
    else
      fmt::print("{:<12} {:<42} {:<22} {:>12.6f} {:>7.1f}% {:>28} {:>8.1f}%\n", m.stage, m.problem,
                 m.instruction_set, m.seconds, 100 * m.spread,
                 fmt::format("{:.4g} G {}", m.rate / 1e9, m.unit), 100 * m.fraction_of_limit);
  }
  return kDone;
}

}  // namespace

void add_bench(CLI::App& app, const Global& global, Action& action) {
  auto* command = app.add_subcommand("bench", "measured rates beside the device's limits");
  auto options = std::make_shared<Options>();
  command->add_option("stage", options->stages, "unpack, channelize, corner_turn, correlate; default: all");
  command->add_option("--problem", options->problem, "sizes, as inputs=64,channels=128");
  command->add_option("--budget", options->budget_s, "seconds to repeat each for")
      ->capture_default_str();
  command->footer("Example: tautline --device cpu:avx2 bench correlate --problem inputs=512");
  command->callback([&global, &action, options] {
    action = [&global, options] { return run(global, *options); };
  });
}

}  // namespace tautline::cli

// tautline simulate: made-up observations with the truth beside them.
#include <fmt/format.h>

#include "cli/common_options.h"
#include "cli/field_options.h"
#include "cli/output_names.h"
#include "cli/run_output.h"
#include "cli/simulate_filterbank.h"
#include "tautline/core/counted.h"
#include "tautline/formats/distinct_files.h"
#include "tautline/pipeline/simulation/simulate_voltages.h"

namespace tautline::cli {

namespace {

struct SimulateOptions {
  pipeline::SimulateConfig config;
};

// The truth, and one file or one for each receiver.
std::vector<formats::NamedFile> files_written_simulate(const pipeline::SimulateConfig& config) {
  const std::string truth = pipeline::truth_path(config.output);
  if (config.format == pipeline::SimulateFormat::dada)
    return {{"-o", config.output}, {"-o (the truth)", truth}};
  auto files = formats::name_files("-o", {config.output + ".0", config.output + ".1",
                                          config.output + ".2", config.output + ".3"});
  files.push_back({"-o (the truth)", truth});
  return files;
}

int run_simulate(const Global& global, SimulateOptions& options) {
  pipeline::SimulateConfig& config = options.config;
  formats::require_distinct(files_written_simulate(config),
                            {{"--array", config.array_path}, {"--scene", config.scene_path}});
  if (config.format == pipeline::SimulateFormat::dada)
    require_own_ending("--output", config.output, {".dada"});
  config.threads = global.threads;
  config.history = history_line(global);
  ProgressLine line(global);
  const auto s = pipeline::simulate_voltages(config, drawn_on(line, "made"), global.stop);
  print_summary(global, "tautline.simulate.voltages",
                {{"files", s.files},
                 {"truth", s.truth_path},
                 {"inputs", s.inputs},
                 {"samples", s.samples},
                 {"clipped", s.clipped},
                 {"elapsed_s", s.elapsed_s}},
                fmt::format("{}\n  {}, {} each ({:.3f} s), {} clipped, made in {:.2f} s\n"
                            "  the truth: {}\n",
                            fmt::join(s.files, "\n"), core::counted(s.inputs, "input"),
                            core::counted(s.samples, "sample"), s.stream_s, s.clipped, s.elapsed_s,
                            s.truth_path),
                &s.profile);
  return kDone;
}

}  // namespace

void add_simulate(CLI::App& app, const Global& global, Action& action) {
  auto* simulate =
      app.add_subcommand("simulate", "made-up observations with the truth beside them");
  simulate->require_subcommand(1);
  simulate->footer(
      "Example: tautline simulate voltages --array array.toml --scene scene.toml --duration 5 -o "
      "sky.dada");
  add_simulate_photons(*simulate, global, action);
  auto* command = simulate->add_subcommand("voltages", "sky sources, tones and noise on an array");
  auto options = std::make_shared<SimulateOptions>();
  pipeline::SimulateConfig& config = options->config;
  add_required_field(*command, config, "array_path");
  add_required_field(*command, config, "scene_path");
  add_required_field(*command, config, "duration_s");
  add_required_output(*command, config.output, "X.dada; the truth goes to X.truth.json");
  add_fields(*command, config, {"bits", "real", "seed", "format", "memory_bytes"});
  add_overwrite(*command, config.overwrite);
  command->footer(
      "Example: tautline simulate voltages --array array.toml --scene scene.toml --duration 5 -o "
      "sky.dada");
  when_chosen(*command, global, action, options, run_simulate);
  add_simulate_filterbank(*simulate, global, action);
}

}  // namespace tautline::cli

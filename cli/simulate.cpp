// tautline simulate: made-up observations with the truth beside them.
#include <fmt/format.h>

#include "cli/run_output.h"
#include "cli/simulate_filterbank.h"
#include "tautline/formats/distinct_files.h"
#include "tautline/pipeline/simulate_voltages.h"

namespace tautline::cli {

namespace {

struct Options {
  pipeline::SimulateConfig config;
  std::string format = "dada", memory = "512M";
};

// The truth, and one file or one for each receiver.
std::vector<formats::NamedFile> files_written(const pipeline::SimulateConfig& config) {
  const std::string truth = pipeline::truth_path(config.output);
  if (config.format == pipeline::SimulateFormat::dada)
    return {{"-o", config.output}, {"-o (the truth)", truth}};
  auto files = formats::name_files("-o", {config.output + ".0", config.output + ".1",
                                          config.output + ".2", config.output + ".3"});
  files.push_back({"-o (the truth)", truth});
  return files;
}

int run(const Global& global, Options& options) {
  pipeline::SimulateConfig& config = options.config;
  config.format =
      options.format == "dada" ? pipeline::SimulateFormat::dada : pipeline::SimulateFormat::mwa32t;
  formats::require_distinct(files_written(config),
                            {{"--array", config.array_path}, {"--scene", config.scene_path}});
  config.threads = global.threads;
  config.memory_bytes = parse_bytes(options.memory);
  config.history = history_line(global);
  ProgressLine line(global);
  const auto s = pipeline::simulate_voltages(config, drawn_on(line, "made"), global.stop);
  print_summary(
      global, "tautline.simulate.voltages",
      {{"files", s.files},
       {"truth", s.truth_path},
       {"inputs", s.inputs},
       {"samples", s.samples},
       {"clipped", s.clipped},
       {"elapsed_s", s.elapsed_s}},
      fmt::format("{}\n  {}, {} each ({:.3f} s), {} clipped, made in {:.2f} s\n"
                  "  the truth: {}\n",
                  fmt::join(s.files, "\n"), counted(s.inputs, "input"),
                  counted(s.samples, "sample"), s.stream_s, s.clipped, s.elapsed_s, s.truth_path));
  return kDone;
}

}  // namespace

void add_simulate(CLI::App& app, const Global& global, Action& action) {
  auto* simulate =
      app.add_subcommand("simulate", "made-up observations with the truth beside them");
  simulate->require_subcommand(1);
  add_simulate_photons(*simulate, global, action);
  auto* command = simulate->add_subcommand("voltages", "sky sources, tones and noise on an array");
  auto options = std::make_shared<Options>();
  pipeline::SimulateConfig& config = options->config;
  command->add_option("--array", config.array_path, "array.toml: antennas and inputs")->required();
  command->add_option("--scene", config.scene_path, "scene.toml: sky, tones, noise and band")
      ->required();
  command->add_option("--duration", config.duration_s, "seconds")->required();
  command->add_option("-o,--output", config.output, "X.dada; the truth goes to X.truth.json")
      ->required();
  command->add_option("--bits", config.bits, "of each component: 4, 8 or 16")
      ->check(CLI::IsMember({4, 8, 16}))
      ->capture_default_str();
  command->add_flag("--real", config.real, "real samples at twice the bandwidth");
  command->add_option("--seed", config.seed, "the same seed gives the same file")
      ->capture_default_str();
  command->add_option("--format", options->format, "dada, or mwa32t: one file a receiver")
      ->check(CLI::IsMember({"dada", "mwa32t"}))
      ->capture_default_str();
  command->add_option("--memory", options->memory, "cap on the memory used")->capture_default_str();
  command->add_flag("--overwrite", config.overwrite, "replace existing files");
  command->footer(
      "Example: tautline simulate voltages --array array.toml --scene scene.toml --duration 5 -o "
      "sky.dada");
  command->callback([&global, &action, options] {
    action = [&global, options] { return run(global, *options); };
  });
  add_simulate_filterbank(*simulate, global, action);
}

}  // namespace tautline::cli

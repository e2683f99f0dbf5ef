// tautline simulate photons: photon counts or time tags of diffusing particles.
#include "tautline/pipeline/simulate_photons.h"

#include <fmt/format.h>

#include <cstdio>

#include "cli/run_output.h"
#include "tautline/core/error.h"

namespace tautline::cli {

namespace {

struct Options {
  pipeline::SimulatePhotonsConfig config;
  std::vector<std::string> models;
  std::string dtype = "u8", memory = "1G", shape, afterpulsing, tags = "t3";
};

// "ROWSxCOLUMNS"
void parse_shape(const std::string& text, pipeline::SimulatePhotonsConfig& config) {
  if (text.empty()) return;
  int used = 0;
  if (std::sscanf(text.c_str(), "%zux%zu%n", &config.rows, &config.columns, &used) != 2 ||
      static_cast<std::size_t>(used) != text.size())
    throw core::Error(core::ErrorKind::config, "--shape", text, "ROWSxCOLUMNS, such as 32x32");
  if (config.sensors == 1) config.sensors = config.rows * config.columns;
}

// "P" or "P:SECONDS"
void parse_afterpulsing(const std::string& text, pipeline::simulation::PhotonModel& model) {
  if (text.empty()) return;
  int used = 0;
  const int found = std::sscanf(text.c_str(), "%lf%n:%lf%n", &model.afterpulsing, &used,
                                &model.afterpulse_tau_s, &used);
  if (found < 1 || static_cast<std::size_t>(used) != text.size())
    throw core::Error(core::ErrorKind::config, "--afterpulsing", text, "P or P:SECONDS");
}

int run(const Global& global, Options& options) {
  pipeline::SimulatePhotonsConfig& config = options.config;
  for (const std::string& model : options.models) pipeline::parse_photon_model(model, config.model);
  parse_shape(options.shape, config);
  parse_afterpulsing(options.afterpulsing, config.model);
  config.bits = options.dtype == "u8" ? 8 : 16;
  config.t3 = options.tags == "t3";
  config.threads = global.threads;
  config.memory_bytes = parse_bytes(options.memory);
  config.history = history_line(global);
  ProgressLine line(global);
  const auto s = pipeline::simulate_photons(
      config,
      [&](double done) { line.show(done, fmt::format("{:.1f} s made", done * config.duration_s)); },
      global.stop);
  print_summary(
      global, "tautline.simulate.photons",
      {{"files", {s.file}},
       {"truth", s.truth_path},
       {"sensors", config.sensors},
       {"bins", s.bins},
       {"photons", s.photons},
       {"duration_s", s.stream_s},
       {"elapsed_s", s.elapsed_s}},
      fmt::format("{}\n  {} sensor{}, {:.6g} s, {} photons, made in {:.2f} s\n  the truth: {}\n",
                  s.file, config.sensors, config.sensors == 1 ? "" : "s", s.stream_s, s.photons,
                  s.elapsed_s, s.truth_path));
  return kDone;
}

}  // namespace

void add_simulate_photons(CLI::App& simulate, const Global& global, Action& action) {
  auto* command =
      simulate.add_subcommand("photons", "photon counts or time tags of diffusing particles");
  auto options = std::make_shared<Options>();
  pipeline::SimulatePhotonsConfig& config = options->config;
  command->add_option("--sensors", config.sensors, "each with a focus and particles of its own")
      ->capture_default_str();
  command->add_option("--shape", options->shape,
                      "ROWSxCOLUMNS of the sensors: counts [time][row][column]");
  command->add_option("--duration", config.duration_s, "seconds")->required();
  command->add_option("--bin", config.bin_s, "seconds of one count (not for time tags)")
      ->capture_default_str();
  command
      ->add_option(
          "--model", options->models,
          "diffusion:n=N,tau=SECONDS,rate=HZ[,kappa=K]: mean number in the focus, diffusion time, "
          "photons a second; more than once: several species")
      ->required();
  command
      ->add_option(
          "-o,--output", config.output,
          "X.npy, X.ptu (time tags), else counts without a header; the truth goes to X.truth.json")
      ->required();
  command->add_option("--dtype", options->dtype, "u8 or u16")
      ->check(CLI::IsMember({"u8", "u16"}))
      ->capture_default_str();
  command->add_option("--background", config.model.background_hz, "uncorrelated photons a second")
      ->capture_default_str();
  command->add_option(
      "--afterpulsing", options->afterpulsing,
      "P or P:SECONDS: probability and mean delay (default 1e-6) of a false pulse after each");
  command->add_option("--hot-sensors", config.hot_sensors, "sensors that count --hot-rate more")
      ->delimiter(',');
  command->add_option("--hot-rate", config.hot_rate_hz, "counts a second")->capture_default_str();
  command->add_option("--tags", options->tags, "of a PTU file: t3 (sync count and microtime) or t2")
      ->check(CLI::IsMember({"t2", "t3"}))
      ->capture_default_str();
  command->add_option("--sync-rate", config.sync_rate_hz, "pulses a second, T3")
      ->capture_default_str();
  command
      ->add_option("--lifetime", config.model.lifetime_s,
                   "seconds, T3: mean microtime of fluorescence")
      ->capture_default_str();
  command->add_option("--seed", config.seed, "the same seed gives the same file")
      ->capture_default_str();
  command->add_option("--memory", options->memory, "cap on the memory used")->capture_default_str();
  command->add_flag("--overwrite", config.overwrite, "replace existing files");
  command->footer(
      "Example: tautline simulate photons --duration 10 --bin 1e-5 --model "
      "diffusion:n=2,tau=2e-4,rate=5e4 -o x.npy");
  command->callback([&global, &action, options] {
    action = [&global, options] { return run(global, *options); };
  });
}

}  // namespace tautline::cli

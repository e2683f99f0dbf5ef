// tautline simulate photons: photon counts or time tags of diffusing particles.
#include "tautline/pipeline/simulation/simulate_photons.h"

#include <fmt/format.h>

#include "cli/common_options.h"
#include "cli/field_options.h"
#include "cli/output_names.h"
#include "cli/run_output.h"
#include "tautline/core/counted.h"

namespace tautline::cli {

namespace {

struct SimulatePhotonsOptions {
  const CLI::App* command = nullptr;
  pipeline::SimulatePhotonsConfig config;
};

// Options that the output, or another option, makes useless.
void refuse_without_use(const CLI::App& command, const pipeline::SimulatePhotonsConfig& config) {
  const std::string given = "given for " + config.output;
  if (config.output.ends_with(".ptu"))
    refuse_given(command, {"bin_s", "bits"}, given, "only for counts (.npy)");
  else
    refuse_given(command, {"t3", "sync_rate_hz", "lifetime_s"}, given, "only for time tags (.ptu)");
  if (!config.t3)
    refuse_given(command, {"sync_rate_hz", "lifetime_s"}, "given with `t3` t2",
                 "only for T3, which has microtimes");
  const auto refuse_alone = [&](const std::string& field, const std::string& other) {
    refuse_given(command, {field}, "given alone", "only with `" + other + "`",
                 "leave it out, or give `" + other + "`");
  };
  if (config.hot_sensors.empty()) refuse_alone("hot_rate_hz", "hot_sensors");
  if (config.hot_rate_hz == 0) refuse_alone("hot_sensors", "hot_rate_hz");
}

int run_simulate_photons(const Global& global, SimulatePhotonsOptions& options) {
  pipeline::SimulatePhotonsConfig& config = options.config;
  require_own_ending("--output", config.output, {".npy", ".ptu", ".raw", ".u8", ".u16"});
  refuse_without_use(*options.command, config);
  config.threads = global.threads;
  config.history = history_line(global);
  ProgressLine line(global);
  const auto s = pipeline::simulate_photons(
      config,
      [&](double done) { line.show(done, fmt::format("{:.1f} s made", done * config.duration_s)); },
      global.stop);
  print_summary(global, "tautline.simulate.photons",
                {{"files", {s.file}},
                 {"truth", s.truth_path},
                 {"sensors", config.sensors},
                 {"bins", s.bins},
                 {"photons", s.photons},
                 {"duration_s", s.stream_s},
                 {"elapsed_s", s.elapsed_s}},
                fmt::format("{}\n  {}, {:.6g} s, {}, made in {:.2f} s\n  the truth: {}\n", s.file,
                            core::counted(config.sensors, "sensor"), s.stream_s,
                            core::counted(s.photons, "photon"), s.elapsed_s, s.truth_path),
                &s.profile);
  return kDone;
}

}  // namespace

void add_simulate_photons(CLI::App& simulate, const Global& global, Action& action) {
  auto* command =
      simulate.add_subcommand("photons", "photon counts or time tags of diffusing particles");
  auto options = std::make_shared<SimulatePhotonsOptions>();
  options->command = command;
  pipeline::SimulatePhotonsConfig& config = options->config;
  add_fields(*command, config, {"sensors", "shape"});
  add_required_field(*command, config, "duration_s");
  add_field(*command, config, "bin_s");
  add_required_field(*command, config, "model");
  add_required_output(
      *command, config.output,
      "X.npy, X.ptu (time tags), else counts without a header; the truth goes to X.truth.json");
  add_fields(*command, config,
             {"bits", "background_hz", "afterpulsing", "hot_sensors", "hot_rate_hz", "t3",
              "sync_rate_hz", "lifetime_s", "seed", "memory_bytes"});
  add_overwrite(*command, config.overwrite);
  command->footer(
      "Example: tautline simulate photons --duration 10 --bin 1e-5 --model "
      "diffusion:n=2,tau=2e-4,rate=5e4 -o x.npy");
  when_chosen(*command, global, action, options, run_simulate_photons);
}

}  // namespace tautline::cli

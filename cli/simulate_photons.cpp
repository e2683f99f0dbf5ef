// tautline simulate photons: photon counts or time tags of diffusing particles.
#include "tautline/pipeline/simulation/simulate_photons.h"

#include <fmt/format.h>

#include "cli/field_options.h"
#include "cli/output_names.h"
#include "cli/run_output.h"
#include "tautline/core/counted.h"

namespace tautline::cli {

namespace {

struct SimulatePhotonsOptions {
  pipeline::SimulatePhotonsConfig config;
};

int run_simulate_photons(const Global& global, SimulatePhotonsOptions& options) {
  pipeline::SimulatePhotonsConfig& config = options.config;
  require_own_ending("--output", config.output, {".npy", ".ptu", ".raw", ".u8", ".u16"});
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
  pipeline::SimulatePhotonsConfig& config = options->config;
  add_fields(*command, config, {"sensors", "shape"});
  add_required_field(*command, config, "duration_s");
  add_field(*command, config, "bin_s");
  add_required_field(*command, config, "model");
  command
      ->add_option(
          "-o,--output", config.output,
          "X.npy, X.ptu (time tags), else counts without a header; the truth goes to X.truth.json")
      ->required();
  add_fields(*command, config,
             {"bits", "background_hz", "afterpulsing", "hot_sensors", "hot_rate_hz", "t3",
              "sync_rate_hz", "lifetime_s", "seed", "memory_bytes"});
  command->add_flag("--overwrite", config.overwrite, "replace existing files");
  command->footer(
      "Example: tautline simulate photons --duration 10 --bin 1e-5 --model "
      "diffusion:n=2,tau=2e-4,rate=5e4 -o x.npy");
  when_chosen(*command, global, action, options, run_simulate_photons);
}

}  // namespace tautline::cli

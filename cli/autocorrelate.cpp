// tautline autocorrelate: counts to correlation curves.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <filesystem>
#include <system_error>

#include "cli/common_options.h"
#include "cli/field_options.h"
#include "cli/interrupts.h"
#include "cli/monitor_options.h"
#include "cli/run_output.h"
#include "tautline/core/counted.h"
#include "tautline/formats/distinct_files.h"
#include "tautline/pipeline/photons/autocorrelate_counts.h"

namespace tautline::cli {

namespace {

struct AutocorrelateOptions {
  pipeline::AutocorrelateConfig config;
  MonitorOptions monitor;
  bool strict = false;
};

void summarise_autocorrelate(const Global& global, const std::string& output,
                             const pipeline::AutocorrelateSummary& s) {
  constexpr std::size_t kNamed = 20;  // stretches
  // The curves and the rate are of both parts.
  const std::string resumed =
      s.resumed_samples > 0 ? fmt::format("  with the {:.3f} s of the state taken up: {:.3f} s\n",
                                          static_cast<double>(s.resumed_samples) * s.bin_s,
                                          static_cast<double>(s.samples) * s.bin_s)
                            : "";
  const bool has_lag_0 = output.ends_with(".h5") || output.ends_with(".table.csv");
  print_summary(
      global, "tautline.autocorrelate",
      {{"output", output},
       {"format", s.format},
       {"sensors", s.sensors},
       {"curves", s.curves},
       {"lags", s.lags},
       {"samples", s.samples},
       {"resumed_samples", s.resumed_samples},
       {"segments", s.segments},
       {"live", s.live},
       {"interrupted", s.interrupted},
       {"writes", s.writes},
       {"bin_s", s.bin_s},
       {"bin_chosen", s.bin_reason},
       {"mean_rate_hz", s.mean_rate_hz},
       {"masked", s.masked},
       {"undefined_curves", s.undefined},
       {"lags_too_long", s.lags_too_long},
       {"lost_samples", s.damage.lost_samples},
       {"dropped_samples", s.damage.dropped_samples},
       {"trailing_bytes", s.damage.trailing_bytes},
       {"empty_samples", s.empty.samples},
       {"empty_stretches", pipeline::empty_stretches(s.empty, kNamed)},
       {"ignored_photons", s.ignored_photons},
       {"kernels", s.backend},
       {"elapsed_s", s.elapsed_s},
       {"real_time_factor", real_time_factor(s.stream_s, s.elapsed_s)}},
      fmt::format("{}: {} of {}{}, {}, {:.6g} s bins\n{}{}, {:.4g} samples/s\n{}"
                  "  mean rate: {:.6g} counts/s a sensor\n  kernels: {}\n"
                  "  counted: {} lost, {} dropped, {} bytes left over, {} empty, {} masked, {} "
                  "without counts\n",
                  output, core::counted(s.curves, "curve"), core::counted(s.lags, "lag"),
                  has_lag_0 ? "" : " (CSVs leave out lag 0)", core::counted(s.sensors, "sensor"),
                  s.bin_s, s.bin_reason.empty() ? "" : "  bins: " + s.bin_reason + "\n",
                  speed_line(s.stream_s, s.elapsed_s),
                  static_cast<double>(s.samples - s.resumed_samples) *
                      static_cast<double>(s.sensors) / s.elapsed_s,
                  resumed, s.mean_rate_hz, s.backend, s.damage.lost_samples,
                  s.damage.dropped_samples, s.damage.trailing_bytes, s.empty.samples, s.masked,
                  s.undefined),
      &s.profile);
}

// News of a run that goes on. What came by a Ctrl-C is kept: the input is then called cut short.
int run_status(const pipeline::AutocorrelateSummary& summary, const AutocorrelateOptions& options) {
  const int status = damage_status(summary.damage, 0, options.strict);
  if (!summary.interrupted) return status;
  spdlog::warn("{}: stopped before its input ended; {} of {} are in the output",
               options.config.input == "-" ? "standard input" : options.config.input,
               core::counted(summary.samples, "sample"), core::counted(summary.sensors, "sensor"));
  return options.strict ? kFailed : kDamagedInput;
}

int run_autocorrelate(const Global& global, AutocorrelateOptions& options) {
  pipeline::AutocorrelateConfig& config = options.config;
  std::vector<formats::NamedFile> inputs{{"--sensor-mask", config.sensors.mask_path},
                                         {"--pairs", config.sensors.pairs},
                                         {"--resume", config.resume}};
  if (config.input != "-") inputs.push_back({"input", config.input});
  formats::require_distinct({{"-o", config.output}, {"--save-state", config.save_state}}, inputs);
  config.history = history_line(global);
  config.watch = options.monitor.watch("autocorrelate", {{"output", config.output}});
  config.log = log_text;
  // Live counts that are stopped are written.
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(config.input, ignored)) finish_when_stopped();
  ProgressLine line(global);
  const auto summary =
      pipeline::autocorrelate_counts(config, open_device(global), drawn_on(line), global.stop);
  summarise_autocorrelate(global, config.output, summary);
  if (!summary.live && summary.empty.samples == 0)  // what was left out is said by itself
    note_short_input(config.duration_s,
                     static_cast<double>(summary.samples - summary.resumed_samples) * summary.bin_s,
                     summary.samples - summary.resumed_samples);
  return run_status(summary, options);
}

}  // namespace

void add_autocorrelate(CLI::App& app, const Global& global, Action& action) {
  auto* command = app.add_subcommand("autocorrelate", "counts of photons to correlation curves");
  auto options = std::make_shared<AutocorrelateOptions>();
  pipeline::AutocorrelateConfig& config = options->config;
  add_input(*command, config.input,
            "counts [time][sensor] (NPY or raw), TIFF stacks, or photon time tags (PTU, PT3, SPC, "
            "Photon-HDF5); - or a named pipe: live");
  add_required_output(*command, config.output,
                      "G.csv (PyCorrFit's), G.table.csv (with a heading, as pandas reads it), "
                      "G.zip or G.h5");
  add_fields(*command, config, {"start_s", "duration_s", "keep_constant"});
  add_overwrite(*command, config.overwrite);
  add_strict(*command, options->strict);
  add_field(*command, config, "memory_bytes");
  add_fields(*command, config, {"every_s", "window_s", "save_state", "resume"}, "Runs that go on");
  add_fields(*command, config, {"raw.dtype", "raw.sensors", "raw.header_bytes"}, "Raw files");
  add_fields(*command, config, {"detectors", "tag_method", "gate_s"}, "Time tags");
  add_fields(*command, config,
             {"bin_s", "lag_scheme", "bins", "levels", "coarsening", "normalization", "segments",
              "detrend"});
  add_fields(*command, config,
             {"sensors.pairs", "sensors.shape", "sensors.mask_path", "sensors.bin_sensors"},
             "Sensors");
  options->monitor.add_to(*command);
  command->footer(
      "Examples: tautline autocorrelate counts.npy -o curves.h5 --bin 1.6e-6 --shape 32x32\n"
      "          camera | tautline autocorrelate - -o curves.h5 --bin 1.6e-6 --shape 32x32 "
      "--dtype u8 --every 10");
  when_chosen(*command, global, action, options, run_autocorrelate);
}

}  // namespace tautline::cli

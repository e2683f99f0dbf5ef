// tautline channelize: the filter bank alone.
#include <spdlog/spdlog.h>

#include "cli/common_options.h"
#include "cli/filter_options.h"
#include "cli/monitor_options.h"
#include "cli/piped_inputs.h"
#include "cli/run_output.h"
#include "cli/voltage_run.h"
#include "tautline/core/counted.h"
#include "tautline/core/error.h"
#include "tautline/formats/distinct_files.h"
#include "tautline/pipeline/voltages/channelize_voltages.h"
#include "tautline/pipeline/voltages/empty_text.h"

namespace tautline::cli {

namespace {

struct ChannelizeOptions {
  InputOptions input;
  FilterOptions filter;
  MonitorOptions monitor;
  pipeline::ChannelizeConfig config;
};

void summarise_channelize(const Global& global, const std::string& output,
                          const pipeline::ChannelizeSummary& s) {
  summarise(global, "tautline.channelize", output, s,
            {.made = core::counted(s.written, "time") + " written",
             .fields = {{"spectra", s.spectra},
                        {"samples", s.samples},
                        {"written", s.written},
                        {"invalid_spectra", s.invalid_spectra}},
             .fields_of_kernels = {{"kernels", s.backend}},
             .in_gaps = {},
             .results = core::counted(s.invalid_spectra, "spectrum", "spectra") + " invalid"});
}

int run_channelize(const Global& global, ChannelizeOptions& options) {
  pipeline::ChannelizeConfig& config = options.config;
  const PipedInputs piped(global, config.inputs, formats::Contents::voltages, config.output,
                          config.overwrite, config.memory_bytes, voltages_come_in_order);
  config.piped = piped.live();
  formats::require_distinct({{"-o", config.output}, {"-o (its record)", config.output + ".json"}},
                            files_read(config.inputs, options.filter));
  if (!config.output.ends_with(".fil"))
    refuse_given(*options.input.command, {"integrate", "stokes"}, "given for " + config.output,
                 "only for detected power (.fil)", "leave it out, or name the output .fil");
  options.input.fill(config);
  options.filter.fill(config.filter);
  config.history = history_line(global);
  config.watch = options.monitor.watch("channelize", {{"spectra", config.output}});
  ProgressLine line(global);
  const auto summary =
      pipeline::channelize_voltages(config, open_device(global), drawn_on(line), global.stop);
  summarise_channelize(global, config.output, summary);
  const std::string constant =
      pipeline::constant_text(summary.constant_channels, summary.input_names);
  if (!constant.empty()) spdlog::warn("never change: {}", constant);
  if (!piped.live()) note_short_input(config.duration_s, summary.stream_s, summary.samples);
  return piped.status(voltage_status(summary, options.input.strict), options.input.strict);
}

}  // namespace

void add_channelize(CLI::App& app, const Global& global, Action& action) {
  auto* command = app.add_subcommand("channelize", "voltages to channels or detected power");
  auto options = std::make_shared<ChannelizeOptions>();
  pipeline::ChannelizeConfig& config = options->config;
  options->input.add_to(*command, config);
  add_required_output(*command, config.output, "OUT.dada, OUT.npy or OUT.fil");
  options->filter.add_to(*command, config);
  add_fields(*command, config, {"requantise", "integrate", "stokes"});
  options->monitor.add_to(*command);
  command->footer(
      "Example: tautline channelize night.dada -o night.fil --channels 1024 --integrate 16");
  when_chosen(*command, global, action, options, run_channelize);
}

}  // namespace tautline::cli

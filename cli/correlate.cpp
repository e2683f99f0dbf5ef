// tautline correlate: voltages to visibilities.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <mutex>
#include <span>

#include "cli/common_options.h"
#include "cli/field_options.h"
#include "cli/filter_options.h"
#include "cli/monitor_options.h"
#include "cli/output_names.h"
#include "cli/piped_inputs.h"
#include "cli/run_output.h"
#include "cli/voltage_run.h"
#include "tautline/core/counted.h"
#include "tautline/formats/file_formats.h"
#include "tautline/pipeline/voltages/correlate_voltages.h"
#include "tautline/pipeline/voltages/data_warnings.h"

namespace tautline::cli {

namespace {

struct CorrelateOptions {
  InputOptions input;
  FilterOptions filter;
  MonitorOptions monitor;
  pipeline::CorrelateConfig config;
};

// "3 integrations of 0.1 s"; where gaps or the end cut some short, how long all are together.
std::string integrations_of(const pipeline::CorrelateSummary& s) {
  if (s.spectra == s.integrations * s.spectra_per_integration)
    return fmt::format("{} of {:.5g} s", core::counted(s.integrations, "integration"),
                       s.integration_s);
  const double spectrum_s = s.integration_s / static_cast<double>(s.spectra_per_integration);
  return fmt::format("{} of at most {:.5g} s, {:.6g} s together",
                     core::counted(s.integrations, "integration"), s.integration_s,
                     static_cast<double>(s.spectra) * spectrum_s);
}

// "6000000 in gaps (3 s)"
std::string gaps_of(const pipeline::CorrelateSummary& s) {
  if (s.gap_samples == 0 || s.samples == 0) return fmt::format("{} in gaps", s.gap_samples);
  const double sample_s = s.stream_s / static_cast<double>(s.samples);
  return fmt::format("{} in gaps ({:.6g} s)", s.gap_samples,
                     static_cast<double>(s.gap_samples) * sample_s);
}

// "; edge channel 0 flagged (--keep-edge)"
std::string edges_of(const pipeline::CorrelateSummary& s, bool averaged) {
  constexpr std::size_t kNamed = 4;
  if (s.edge_channels.empty()) return "";
  const auto named = std::span(s.edge_channels).first(std::min(kNamed, s.edge_channels.size()));
  return fmt::format("; edge {} {}{} {} (--keep-edge)",
                     s.edge_channels.size() == 1 ? "channel" : "channels", fmt::join(named, ", "),
                     named.size() < s.edge_channels.size()
                         ? fmt::format(" and {} more", s.edge_channels.size() - named.size())
                         : "",
                     averaged ? "left out of the averages" : "flagged");
}

void summarise_correlate(const Global& global, const std::string& output, bool averaged,
                         const pipeline::CorrelateSummary& s) {
  nlohmann::ordered_json devices = nlohmann::ordered_json::array();
  for (const pipeline::DeviceShare& share : s.devices)
    devices.push_back({{"device", share.device}, {"sent_bytes", share.sent_bytes}});
  summarise(global, "tautline.correlate", output, s,
            {.made = integrations_of(s),
             .fields = {{"integrations", s.integrations},
                        {"integration_s", s.integration_s},
                        {"spectra", s.spectra},
                        {"samples", s.samples},
                        {"gap_samples", s.gap_samples},
                        {"edge_channels", s.edge_channels}},
             .fields_of_kernels = {{"overflowed", s.overflowed},
                                   {"kernels", s.backend},
                                   {"devices", devices},
                                   {"setup_s", s.setup_s}},
             .in_gaps = gaps_of(s),
             .results = core::counted(s.overflowed, "visibility", "visibilities") + " overflowed" +
                        edges_of(s, averaged)});
}

void warn_of_no_array() {
  spdlog::warn("{}", pipeline::unknown_positions_message());
}

int run_correlate(const Global& global, CorrelateOptions& options) {
  pipeline::CorrelateConfig& config = options.config;
  const PipedInputs piped(global, config.inputs, formats::Contents::voltages, config.output,
                          config.overwrite, config.memory_bytes, voltages_come_in_order);
  config.piped = piped.live();
  if (!config.output.ends_with(".ms") && !config.output.ends_with(".ms/"))
    require_own_ending("--output", config.output, {".uvh5", ".ms"});
  auto read = files_read(config.inputs, options.filter);
  read.insert(read.end(), {{"--array", config.array_path}, {"--delays", config.delays_path}});
  formats::require_distinct({{"-o", config.output}, {"--report", config.report_path}}, read);
  require_own_ending("--report", config.report_path, {".html", ".htm"});
  options.input.fill(config);
  options.filter.fill(config.filter);
  config.history = history_line(global);
  config.words = words_of_options();
  config.watch = options.monitor.watch(
      "correlate", {{"visibilities", config.output}, {"report", config.report_path}});
  ProgressLine line(global);
  // Once the run goes: not before an error that has nothing to do with it.
  std::once_flag warned;
  const auto progress = [&, draw = drawn_on(line)](const pipeline::Progress& done) {
    if (config.array_path.empty()) std::call_once(warned, warn_of_no_array);
    draw(done);
  };
  const auto summary =
      pipeline::correlate_voltages(config, open_devices(global), progress, global.stop);
  if (config.array_path.empty()) std::call_once(warned, warn_of_no_array);
  summarise_correlate(global, config.output, config.reduction.average_channels > 1, summary);
  if (!piped.live()) note_short_input(config.duration_s, summary.stream_s, summary.samples);
  if (summary.overflowed > 0) spdlog::warn("{}", pipeline::overflow_message(summary.overflowed));
  const int status =
      piped.status(voltage_status(summary, options.input.strict), options.input.strict);
  if (summary.overflowed == 0 || status != kDone) return status;
  return options.input.strict ? kFailed : kDamagedInput;
}

}  // namespace

void add_correlate(CLI::App& app, const Global& global, Action& action) {
  auto* command = app.add_subcommand("correlate", "voltages to visibilities");
  auto options = std::make_shared<CorrelateOptions>();
  pipeline::CorrelateConfig& config = options->config;
  options->input.add_to(*command, config);
  add_required_output(
      *command, config.output,
      formats::endings_of(formats::formats_with(&formats::FileFormat::write_visibilities), "V"));
  options->filter.add_to(*command, config);
  add_fields(*command, config,
             {"integration_s", "channel_range", "average_channels", "average_time", "autos_only",
              "keep_edge", "array_path"});
  add_report_output(*command, config.report_path,
                    "an HTML page with fringes, spectra and data quality");
  add_fields(*command, config, {"delays_path", "phase_centre"});
  add_fields(*command, config, {"earth.ut1_minus_utc_s", "earth.pole"}, kEarthGroup);
  add_fields(*command, config, {"requantise", "gains", "settle_s", "follow_gains"});
  options->monitor.add_to(*command);
  command->footer(
      "Example: tautline correlate night.dada -o night.uvh5 --array array.toml --channels 256");
  when_chosen(*command, global, action, options, run_correlate);
}

}  // namespace tautline::cli

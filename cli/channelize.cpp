// tautline channelize: the filter bank alone.
#include <fmt/format.h>

#include "cli/command.h"
#include "cli/filter_options.h"
#include "tautline/core/error.h"
#include "tautline/pipeline/channelize_voltages.h"

namespace tautline::cli {

namespace {

struct Options {
  InputOptions input;
  FilterOptions filter;
  pipeline::ChannelizeConfig config;
  std::string requantise = "off", stokes = "I";
};

void print_summary(const Global& global, const std::string& output,
                   const pipeline::ChannelizeSummary& s) {
  const double factor = s.elapsed_s > 0 ? s.stream_s / s.elapsed_s : 0;
  if (global.json) {
    print_json("tautline.channelize", 1,
               {{"output", output},
                {"inputs", s.inputs},
                {"channels", s.channels},
                {"spectra", s.spectra},
                {"samples", s.samples},
                {"written", s.written},
                {"invalid_spectra", s.invalid_spectra},
                {"lost_samples", s.damage.lost_samples},
                {"dropped_samples", s.damage.dropped_samples},
                {"trailing_bytes", s.damage.trailing_bytes},
                {"clipped", s.clipped},
                {"not_finite", s.not_finite},
                {"kernels", s.backend},
                {"elapsed_s", s.elapsed_s},
                {"real_time_factor", factor}});
    return;
  }
  if (global.quiet) return;
  fmt::print("{}: {} times written, {} inputs, {} channels\n", output, s.written, s.inputs, s.channels);
  fmt::print("  {:.3f} s of data in {:.3f} s: {:.2f} x real time\n", s.stream_s, s.elapsed_s, factor);
  fmt::print("  kernels: {}\n", s.backend);
  fmt::print("  counted: {} lost, {} dropped, {} clipped, {} not finite, {} spectra invalid\n",
             s.damage.lost_samples, s.damage.dropped_samples, s.clipped, s.not_finite, s.invalid_spectra);
}

int run(const Global& global, Options& options) {
  pipeline::ChannelizeConfig& config = options.config;
  if (!config.output.ends_with(".fil"))
    for (const std::string& name : named(*options.input.command, {"--integrate", "--stokes"}))
      throw core::Error(core::ErrorKind::config, name, "given for " + config.output,
                        "only for detected power (.fil)", "leave it out, or name the output .fil");
  config.inputs = options.input.files;
  config.filter = options.filter.resolve();
  config.requantise = options.requantise == "off" ? pipeline::Requantise::off
                      : options.requantise == "4" ? pipeline::Requantise::bits4
                                                  : pipeline::Requantise::bits8;
  config.stokes = options.stokes == "I" ? pipeline::Stokes::i : pipeline::Stokes::iquv;
  config.start_s = options.input.start_s;
  config.duration_s = options.input.duration_s;
  config.reader = options.input.reader();
  config.overwrite = options.input.overwrite;
  config.memory_bytes = parse_bytes(options.input.memory);
  config.history = history_line(global);
  ProgressLine line(global);
  const auto summary = pipeline::channelize_voltages(
      config, open_device(global),
      [&](const pipeline::CorrelateProgress& p) {
        line.show(p.total_samples > 0
                      ? static_cast<double>(p.samples) / static_cast<double>(p.total_samples)
                      : 1,
                  fmt::format("{:.1f} s of data, {:.2f} x real time, {:.0f} s left", p.stream_s,
                              p.real_time_factor(), p.seconds_left));
      },
      global.stop);
  print_summary(global, config.output, summary);
  return damage_status(summary.damage, summary.not_finite, options.input.strict);
}

}  // namespace

void add_channelize(CLI::App& app, const Global& global, Action& action) {
  auto* command = app.add_subcommand("channelize", "voltages to channels or detected power");
  auto options = std::make_shared<Options>();
  options->input.add_to(*command);
  command->add_option("-o,--output", options->config.output, "OUT.dada, OUT.npy or OUT.fil")
      ->required();
  options->filter.add_to(*command);
  command->add_option("--requantize", options->requantise, "8, 4 or off: bits of voltages")
      ->check(CLI::IsMember({"8", "4", "off"}))
      ->capture_default_str();
  command->add_option("--integrate", options->config.integrate, "spectra in one power sample (.fil)")
      ->capture_default_str();
  command->add_option("--stokes", options->stokes, "I or IQUV (.fil)")
      ->check(CLI::IsMember({"I", "IQUV"}))
      ->capture_default_str();
  command->footer("Example: tautline channelize night.dada -o night.fil --channels 1024 --integrate 16");
  command->callback([&global, &action, options] {
    action = [&global, options] { return run(global, *options); };
  });
}

}  // namespace tautline::cli

// tautline plot: a page or a picture of anything that tautline reads or writes.
#include "tautline/pipeline/plot/plot.h"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "cli/command.h"
#include "cli/common_options.h"
#include "cli/field_options.h"
#include "cli/piped_inputs.h"
#include "tautline/core/error.h"
#include "tautline/formats/distinct_files.h"

namespace tautline::cli {

namespace {

struct PlotOptions {
  pipeline::PlotConfig config;
  std::string output;
  bool overwrite = false;
};

std::string default_output(std::string input) {
  if (input == "-")
    throw core::Error(core::ErrorKind::config, "-o", "not given",
                      "X.html, X.png, X.svg or X.pdf for what comes by standard input");
  while (input.size() > 1 && input.back() == '/') input.pop_back();
  return input + ".html";
}

int run_plot(const Global& global, PlotOptions& options) {
  const std::string output =
      options.output.empty() ? default_output(options.config.input) : options.output;
  pipeline::require_figure_name(output);
  formats::require_distinct({{"-o", output}}, {{"input", options.config.input},
                                               {"--mask", options.config.mask},
                                               {"--fit", options.config.fit}});
  std::vector<std::string> inputs{options.config.input};
  const PipedInputs piped(global, inputs, formats::Contents::any, output, options.overwrite);
  options.config.input = inputs.front();
  ProgressLine line(global);
  const pipeline::PlotRun run{
      [&] { return open_device(global); },
      [&](double fraction) { line.show(fraction, fmt::format("{:.0f} % read", 100 * fraction)); },
      global.stop, words_of_options()};
  const formats::figure::Figure figure = pipeline::plot_file(options.config, run);
  pipeline::write_figure(output, figure, options.overwrite);
  if (global.json) {
    nlohmann::ordered_json object{{"output", output}};
    object.update(nlohmann::ordered_json::parse(pipeline::describe_figure(figure)));
    print_json("tautline.plot", 1, std::move(object));
  } else if (!global.quiet) {
    fmt::print("{}\n", output);
  }
  return kDone;
}

}  // namespace

void add_plot(CLI::App& app, const Global& global, Action& action) {
  auto* command = app.add_subcommand("plot", "a page or a picture of a file");
  auto options = std::make_shared<PlotOptions>();
  pipeline::PlotConfig& config = options->config;
  add_input(
      *command, config.input,
      "voltages, a filterbank, dedispersed series, visibilities, correlation curves, time "
      "tags, counts, candidates, cut-outs, a histogram of inspect --tcspc, wisdom or lines of "
      "bench --json",
      "file");
  add_output(*command, options->output, "X.html, X.png, X.svg or X.pdf; default: FILE.html");
  add_overwrite(*command, options->overwrite);
  add_fields(
      *command, config,
      {"start_s", "duration_s", "baseline", "mask", "flag_channels", "fit", "channels", "bin_s"});
  add_fields(*command, config, {"raw.dtype", "raw.sensors", "raw.header_bytes"},
             "What a file's header may not say");
  add_reader_options(*command, config, "reader.");
  command->footer(
      "Examples: tautline plot night.fil\n"
      "          tautline plot night.uvh5 -o night.png --baseline 3-7\n"
      "          tautline plot night.fil --mask night_rfifind.mask --flag-channels\n"
      "          tautline plot G.h5 --fit fit.csv -o fit.pdf");
  command->callback([&global, &action, options, command] {
    action = [&global, options, command] {
      options->config.reader.named = given_members(*command, "reader.");
      return run_plot(global, *options);
    };
  });
}

}  // namespace tautline::cli

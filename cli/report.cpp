// tautline report: the HTML page of visibilities that are in a file.
#include <fmt/format.h>

#include "cli/command.h"
#include "cli/common_options.h"
#include "cli/output_names.h"
#include "cli/piped_inputs.h"
#include "tautline/formats/distinct_files.h"
#include "tautline/pipeline/report/report_file.h"

namespace tautline::cli {

namespace {

struct ReportOptions {
  std::string visibilities, output;
  bool overwrite = false;
};

int run_report(const Global& global, const ReportOptions& options) {
  formats::require_distinct({{"-o", options.output}}, {{"input", options.visibilities}});
  require_own_ending("--output", options.output, {".html", ".htm"});
  std::vector<std::string> inputs{options.visibilities};
  const PipedInputs piped(global, inputs, formats::Contents::visibilities, options.output,
                          options.overwrite);
  {
    ProgressLine line(global);
    pipeline::report::report_file(inputs.front(), options.output, options.overwrite, {},
                                  [&](std::size_t done, std::size_t all) {
                                    line.show(static_cast<double>(done) / static_cast<double>(all),
                                              fmt::format("{} of {} integrations", done, all));
                                  });
  }
  if (global.json)
    print_json("tautline.report", 1, {{"output", options.output}});
  else if (!global.quiet)
    fmt::print("{}\n", options.output);
  return kDone;
}

}  // namespace

void add_report(CLI::App& app, const Global& global, Action& action) {
  auto* command =
      app.add_subcommand("report", "an HTML page with fringes, spectra and data quality");
  auto options = std::make_shared<ReportOptions>();
  add_input(*command, options->visibilities, "V.uvh5 or V.ms", "visibilities");
  add_required_output(*command, options->output, "V.html");
  add_overwrite(*command, options->overwrite);
  command->footer("Example: tautline report night.uvh5 -o night.html");
  when_chosen(*command, global, action, options, run_report);
}

}  // namespace tautline::cli

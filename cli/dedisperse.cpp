// tautline dedisperse: filterbanks to dedispersed time series.
#include <fmt/format.h>

#include <filesystem>

#include "cli/common_options.h"
#include "cli/filterbank_run.h"
#include "cli/monitor_options.h"
#include "cli/output_names.h"
#include "cli/piped_inputs.h"
#include "cli/run_output.h"
#include "tautline/core/counted.h"
#include "tautline/core/error.h"
#include "tautline/pipeline/search/dedisperse_filterbank.h"

namespace tautline::cli {

namespace {

struct DedisperseOptions {
  pipeline::DedisperseConfig config;
  FilterbankRunOptions run;
  std::string format = "auto";
  MonitorOptions monitor;
};

pipeline::SeriesFormat format_of(const std::string& format, const std::string& output) {
  const bool npy = output.ends_with(".npy");
  const std::string ending = npy                        ? "npy"
                             : output.ends_with(".dat") ? "dat"
                             : output.ends_with(".tim") ? "tim"
                                                        : "";
  if (format != "auto" && !ending.empty() && ending != format)
    throw core::Error(core::ErrorKind::config, "--format", format, "what the output's name says",
                      "leave --format out, or name the output otherwise");
  if (format == "npy" && !npy)
    throw core::Error(core::ErrorKind::config, "-o", output, "a name that ends in .npy");
  if (ending.empty()) require_folder_name("--output", output, {".npy", ".dat", ".tim"});
  const std::string& chosen = format == "auto" ? ending : format;
  if (chosen == "npy") return pipeline::SeriesFormat::npy;
  return chosen == "tim" ? pipeline::SeriesFormat::tim : pipeline::SeriesFormat::dat;
}

void summarise_dedisperse(const Global& global, const pipeline::DedisperseConfig& config,
                          const pipeline::DedisperseSummary& s) {
  std::string methods;
  for (const std::string& method : s.methods)
    methods += fmt::format("  {}: {}\n", s.backend, method);
  nlohmann::ordered_json object = summary_fields(config, s);
  object["files"] = s.paths.size();
  object["written"] = s.written;
  object["block_samples"] = s.block_samples;
  print_summary(
      global, "tautline.dedisperse", object,
      fmt::format("{}: {} of {}, {}\n{}\n{}{}\n", config.output, core::counted(s.trials, "trial"),
                  core::counted(s.written, "time"), channels_text(s, config.zero_dm),
                  speed_line(s.stream_s, s.elapsed_s), methods, counted_line(s)),
      &s.profile);
}

// What is known before the trials are: of a folder, its record and what of `read` is named as its
// series are.
std::vector<formats::NamedFile> files_written_dedisperse(
    const pipeline::DedisperseConfig& config, const std::vector<formats::NamedFile>& read) {
  namespace fs = std::filesystem;
  const fs::path output = config.output;
  if (config.output.ends_with(".npy") || config.output.ends_with(".tim"))
    return {{"-o", config.output}, {"-o (its record)", config.output + ".json"}};
  if (config.output.ends_with(".dat"))
    return {{"-o", config.output},
            {"-o (its header)", fs::path(output).replace_extension(".inf").string()},
            {"-o (its record)", config.output + ".json"}};
  std::vector<formats::NamedFile> files{{"-o (its record)", (output / "dedisperse.json").string()}};
  const std::string series = pipeline::series_name(config) + "_DM";
  for (const formats::NamedFile& file : read)
    if (const fs::path name = fs::path(file.path).filename(); name.string().starts_with(series))
      files.push_back({"-o", (output / name).string()});
  return files;
}

int run_dedisperse(const Global& global, DedisperseOptions& options) {
  pipeline::DedisperseConfig& config = options.config;
  config.format = format_of(options.format, config.output);
  const PipedInputs piped(global, config.inputs, formats::Contents::filterbanks, config.output,
                          config.overwrite, config.memory_bytes,
                          reads_again(config) ? nullptr : pipeline::filterbank_comes_in_order);
  config.piped = piped.live();
  const auto read = files_read(config, options.run.dms);
  formats::require_distinct(files_written_dedisperse(config, read), read);
  options.run.dms.fill(config);
  config.history = history_line(global);
  config.watch = options.monitor.watch("dedisperse", {{"series", config.output}});
  ProgressLine line(global);
  const auto summary = pipeline::dedisperse_filterbank(config, open_device(global), drawn_on(line),
                                                       print_plan(global), global.stop);
  summarise_dedisperse(global, config, summary);
  if (!piped.live()) note_short_input(config.duration_s, summary.stream_s, summary.samples);
  return piped.status(filterbank_status(summary, options.run.strict), options.run.strict);
}

}  // namespace

void add_dedisperse(CLI::App& app, const Global& global, Action& action) {
  auto* command = app.add_subcommand("dedisperse", "filterbanks to dedispersed time series");
  auto options = std::make_shared<DedisperseOptions>();
  add_input(*command, options->config.inputs, filterbanks_help());
  add_required_output(*command, options->config.output,
                      "OUT.npy, a folder, or OUT.dat or OUT.tim for one trial");
  note_field(
      *add_own(*command, options->format,
               {.name = "format", .help = "of a folder's files: dat (PRESTO) or tim (sigproc)"},
               word_of({"auto", "dat", "tim", "npy"})),
      fields(options->config).named("format"));
  options->run.dms.add_to(*command, options->config);
  options->run.add_input(*command, options->config);
  options->monitor.add_to(*command);
  command->footer("Example: tautline dedisperse obs.fil -o series --dms 0:100:0.25");
  when_chosen(*command, global, action, options, run_dedisperse);
}

}  // namespace tautline::cli

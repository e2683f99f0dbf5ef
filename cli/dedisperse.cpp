// tautline dedisperse: filterbanks to dedispersed time series.
#include <fmt/format.h>

#include "cli/command.h"
#include "cli/dm_options.h"
#include "tautline/core/error.h"
#include "tautline/pipeline/dedisperse_filterbank.h"

namespace tautline::cli {

namespace {

struct Options {
  pipeline::DedisperseConfig config;
  DmOptions dms;
  std::string format = "auto", memory = "512M";
  bool strict = false;
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
  const std::string& chosen = format == "auto" ? ending : format;
  if (chosen == "npy") return pipeline::SeriesFormat::npy;
  return chosen == "tim" ? pipeline::SeriesFormat::tim : pipeline::SeriesFormat::dat;
}

void print_summary(const Global& global, const std::string& output,
                   const pipeline::DedisperseSummary& s, bool zero_dm) {
  const double factor = s.elapsed_s > 0 ? s.stream_s / s.elapsed_s : 0;
  if (global.json) {
    print_json("tautline.dedisperse", 1,
               {{"output", output},
                {"files", s.paths.size()},
                {"trials", s.trials},
                {"channels", s.channels},
                {"ignored_channels", s.ignored_channels},
                {"flagged_channels", s.flagged_channels},
                {"zero_dm", zero_dm},
                {"samples", s.samples},
                {"gap_samples", s.gap_samples},
                {"written", s.written},
                {"f_ref_mhz", s.f_ref_mhz},
                {"methods", s.methods},
                {"loss_of_snr", s.loss},
                {"masked_samples", s.masked},
                {"not_finite", s.not_finite},
                {"lost_samples", s.damage.lost_samples},
                {"dropped_samples", s.damage.dropped_samples},
                {"trailing_bytes", s.damage.trailing_bytes},
                {"block_samples", s.block_samples},
                {"bytes", s.bytes},
                {"kernels", s.backend},
                {"expected_s", s.expected_s},
                {"elapsed_s", s.elapsed_s},
                {"real_time_factor", factor}});
    return;
  }
  if (global.quiet) return;
  fmt::print("{}: {} trials of {} times, {} of {} channels{}{}\n", output, s.trials, s.written,
             s.channels - s.ignored_channels, s.channels,
             s.flagged_channels > 0 ? fmt::format(" ({} flagged)", s.flagged_channels) : "",
             zero_dm ? ", zero-DM filter" : "");
  fmt::print("  {:.3f} s of data in {:.3f} s: {:.2f} x real time\n", s.stream_s, s.elapsed_s,
             factor);
  for (const std::string& method : s.methods) fmt::print("  {}: {}\n", s.backend, method);
  fmt::print("  counted: {} lost, {} dropped, {} not finite, {} masked, {} in gaps\n",
             s.damage.lost_samples, s.damage.dropped_samples, s.not_finite, s.masked,
             s.gap_samples);
}

int run(const Global& global, Options& options) {
  pipeline::DedisperseConfig& config = options.config;
  config.format = format_of(options.format, config.output);
  config.dms = options.dms.choice();
  config.dm_constant = options.dms.constant();
  config.method = stages::dedisperse::parse_method(options.dms.method);
  config.max_loss = options.dms.max_loss_percent / 100;
  config.ignored_channels = options.dms.ignored_channels();
  config.mask = options.dms.mask;
  config.zero_dm = options.dms.zero_dm;
  config.flag_channels = options.dms.flag_channels;
  config.memory_bytes = parse_bytes(options.memory);
  config.history = history_line(global);
  ProgressLine line(global);
  const auto summary = pipeline::dedisperse_filterbank(
      config, open_device(global),
      [&](const pipeline::Progress& p) {
        line.show(static_cast<double>(p.samples) / static_cast<double>(p.total_samples),
                  fmt::format("{:.1f} s of data, {:.2f} x real time, {:.0f} s left", p.stream_s,
                              p.real_time_factor(), p.seconds_left));
      },
      [&](const std::string& plan) {
        if (!global.quiet) fmt::print(stderr, "{}\n", plan);
      },
      global.stop);
  print_summary(global, config.output, summary, config.zero_dm);
  return damage_status(summary.damage, summary.not_finite, options.strict);
}

}  // namespace

void add_dedisperse(CLI::App& app, const Global& global, Action& action) {
  auto* command = app.add_subcommand("dedisperse", "filterbanks to dedispersed time series");
  auto options = std::make_shared<Options>();
  command
      ->add_option("input", options->config.inputs, "filterbanks (sigproc, PSRFITS), consecutive")
      ->required();
  command
      ->add_option("-o,--output", options->config.output,
                   "OUT.npy, a folder, or OUT.dat or OUT.tim for one trial")
      ->required();
  command
      ->add_option("--format", options->format,
                   "of a folder's files: dat (PRESTO) or tim (sigproc)")
      ->check(CLI::IsMember({"auto", "dat", "tim", "npy"}))
      ->capture_default_str();
  options->dms.add_to(*command);
  command->add_option("--ifs", options->config.reader.ifs, "IFs to add up, from 0; default: all")
      ->delimiter(',');
  command->add_option("--start", options->config.start_s, "seconds to skip")->capture_default_str();
  command
      ->add_option("--duration", options->config.duration_s,
                   "seconds to process; negative: to the end")
      ->capture_default_str();
  command->add_option("--memory", options->memory, "cap on the memory used, bytes with K, M or G")
      ->capture_default_str();
  command->add_flag("--strict", options->strict, "damaged input is a failure (status 1, not 3)");
  command->add_flag("--overwrite", options->config.overwrite, "replace existing outputs");
  command->footer("Example: tautline dedisperse obs.fil -o series --dms 0:100:0.25");
  command->callback([&global, &action, options] {
    action = [&global, options] { return run(global, *options); };
  });
}

}  // namespace tautline::cli

// tautline search: filterbanks to pulse candidates.
#include <fmt/format.h>

#include "cli/command.h"
#include "cli/dm_options.h"
#include "tautline/core/error.h"
#include "tautline/pipeline/search_filterbank.h"

namespace tautline::cli {

namespace {

struct Options {
  pipeline::SearchConfig config;
  DmOptions dms;
  std::string memory = "2G", noise = "trial";
  bool strict = false;
};

constexpr std::size_t kShown = 10;

nlohmann::ordered_json candidate_json(const core::Candidate& c) {
  return {{"snr", c.snr},
          {"time_s", c.time_s},
          {"sample", c.sample},
          {"width_samples", c.width_samples},
          {"dm", c.dm},
          {"dm_index", c.dm_index},
          {"members", c.members},
          {"first_sample", c.first_sample},
          {"last_sample", c.last_sample},
          {"beam", c.beam}};
}

void print_json_summary(const std::string& output, const pipeline::SearchSummary& s, double factor,
                        bool zero_dm) {
  for (const core::Candidate& candidate : s.candidates)
    print_json("tautline.candidate", 1, candidate_json(candidate));
  print_json("tautline.search", 1,
             {{"output", output},
              {"files", s.paths},
              {"candidates", s.candidates.size()},
              {"detections", s.detections},
              {"trials", s.trials},
              {"widths", s.widths},
              {"passes", s.passes},
              {"channels", s.channels},
              {"ignored_channels", s.ignored_channels},
              {"flagged_channels", s.flagged_channels},
              {"samples", s.samples},
              {"stretches", s.stretches},
              {"gap_samples", s.gap_samples},
              {"f_ref_mhz", s.f_ref_mhz},
              {"methods", s.methods},
              {"loss_of_snr", s.loss},
              {"masked_samples", s.masked},
              {"not_finite", s.not_finite},
              {"lost_samples", s.damage.lost_samples},
              {"dropped_samples", s.damage.dropped_samples},
              {"trailing_bytes", s.damage.trailing_bytes},
              {"bytes", s.bytes},
              {"zero_dm", zero_dm},
              {"kernels", s.backend},
              {"search_kernels", s.detect_backend},
              {"expected_s", s.expected_s},
              {"elapsed_s", s.elapsed_s},
              {"real_time_factor", factor}});
}

void print_summary(const Global& global, const pipeline::SearchConfig& config,
                   const pipeline::SearchSummary& s) {
  const std::string& output = config.output;
  const double factor = s.elapsed_s > 0 ? s.stream_s / s.elapsed_s : 0;
  if (global.json) return print_json_summary(output, s, factor, config.zero_dm);
  if (global.quiet) return;
  fmt::print("{}: {} candidates from {} detections, {} trials, {} of {} channels{}{}\n", output,
             s.candidates.size(), s.detections, s.trials, s.channels - s.ignored_channels,
             s.channels,
             s.flagged_channels > 0 ? fmt::format(" ({} flagged)", s.flagged_channels) : "",
             config.zero_dm ? ", zero-DM filter" : "");
  if (!s.candidates.empty())
    fmt::print("  {:>8} {:>14} {:>10} {:>8} {:>8}\n", "S/N", "time (s)", "DM", "width", "members");
  for (std::size_t i = 0; i < std::min(kShown, s.candidates.size()); ++i) {
    const core::Candidate& c = s.candidates[i];
    fmt::print("  {:8.2f} {:14.6f} {:10.3f} {:8} {:8}\n", c.snr, c.time_s, c.dm, c.width_samples,
               c.members);
  }
  if (s.candidates.size() > kShown) fmt::print("  ...\n");
  fmt::print("  {:.3f} s of data in {:.3f} s: {:.2f} x real time\n", s.stream_s, s.elapsed_s,
             factor);
  fmt::print("  kernels: {}; search {}\n", s.backend, s.detect_backend);
  fmt::print("  counted: {} lost, {} dropped, {} not finite, {} masked, {} in gaps\n",
             s.damage.lost_samples, s.damage.dropped_samples, s.not_finite, s.masked,
             s.gap_samples);
}

int run(const Global& global, Options& options) {
  pipeline::SearchConfig& config = options.config;
  // Without either option the pipeline decides: a dedispersed series has its DM.
  if (!options.dms.dms.empty() || !options.dms.dm_list.empty()) config.dms = options.dms.choice();
  config.dm_constant = options.dms.constant();
  config.method = stages::dedisperse::parse_method(options.dms.method);
  config.max_loss = options.dms.max_loss_percent / 100;
  config.ignored_channels = options.dms.ignored_channels();
  config.mask = options.dms.mask;
  config.zero_dm = options.dms.zero_dm;
  config.flag_channels = options.dms.flag_channels;
  config.noise =
      options.noise == "width" ? stages::detect::Noise::width : stages::detect::Noise::trial;
  config.memory_bytes = parse_bytes(options.memory);
  config.history = history_line(global);
  ProgressLine line(global);
  const auto summary = pipeline::search_filterbank(
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
  print_summary(global, config, summary);
  return damage_status(summary.damage, summary.not_finite, options.strict);
}

void add_search_options(CLI::App& command, Options& options) {
  const std::string group = "Search";
  pipeline::SearchConfig& config = options.config;
  command.add_option("--threshold", config.threshold, "smallest S/N")
      ->capture_default_str()
      ->group(group);
  command.add_option("--max-width", config.max_width_s, "seconds of the widest boxcar")
      ->capture_default_str()
      ->group(group);
  command
      .add_option(
          "--baseline", config.baseline_s,
          "seconds of the running mean; 0: 2 s, or 16 of the widest boxcars if that is longer")
      ->capture_default_str()
      ->group(group);
  command
      .add_option("--noise", options.noise,
                  "trial: 1.4826 MAD of each series; width: the RMS at each width, as heimdall")
      ->check(CLI::IsMember({"trial", "width"}))
      ->capture_default_str()
      ->group(group);
  command
      .add_option("--link-time", config.links.time_samples,
                  "detections this many samples apart, and half a width, are one pulse")
      ->capture_default_str()
      ->group(group);
  command
      .add_option("--link-dm", config.links.dm_trials,
                  "detections this many trials apart are one pulse")
      ->capture_default_str()
      ->group(group);
  command
      .add_option("--link-width", config.links.width_octaves,
                  "detections whose widths differ at most 2^N times are one pulse")
      ->check(CLI::Range(0, 16))
      ->capture_default_str()
      ->group(group);
}

}  // namespace

void add_search(CLI::App& app, const Global& global, Action& action) {
  auto* command = app.add_subcommand("search", "filterbanks to pulse candidates");
  auto options = std::make_shared<Options>();
  command
      ->add_option(
          "input", options->config.inputs,
          "filterbanks (sigproc, PSRFITS), consecutive; or a dedispersed series (.dat, .tim)")
      ->required();
  command
      ->add_option("-o,--output", options->config.output,
                   "C.csv, C.cand (heimdall's) or C.singlepulse (PRESTO's)")
      ->required();
  options->dms.add_to(*command);
  add_search_options(*command, *options);
  command->add_option(
      "--plot", options->config.plot_folder,
      "a folder for candidates.html: the candidates against DM and time, and pictures of "
      "the best ones");
  command->add_option("--most-plots", options->config.most_plots, "candidates with pictures")
      ->capture_default_str();
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
  command->footer("Example: tautline search obs.fil -o candidates.csv --dms 0:1000 --zero-dm");
  command->callback([&global, &action, options] {
    action = [&global, options] { return run(global, *options); };
  });
}

}  // namespace tautline::cli

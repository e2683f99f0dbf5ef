// tautline search: filterbanks to pulse candidates.
#include <fmt/format.h>

#include <filesystem>
#include <optional>

#include "cli/common_options.h"
#include "cli/field_options.h"
#include "cli/filterbank_run.h"
#include "cli/interrupts.h"
#include "cli/monitor_options.h"
#include "cli/piped_inputs.h"
#include "cli/run_output.h"
#include "tautline/core/counted.h"
#include "tautline/core/error.h"
#include "tautline/formats/file_formats.h"
#include "tautline/pipeline/plot/candidate_figures.h"
#include "tautline/pipeline/search/search_filterbank.h"

namespace tautline::cli {

namespace {

struct SearchOptions {
  pipeline::SearchConfig config;
  FilterbankRunOptions run;
  std::size_t from_top = 10;
  bool plan = false;
  MonitorOptions monitor;
};

// The columns of the .csv; arrival times are text, as a double has not their nanoseconds.
nlohmann::ordered_json candidate_json(const core::Candidate& c, const pipeline::SearchSummary& s,
                                      bool beams) {
  const formats::candidates::SearchDescription& search = s.search_of(c);
  nlohmann::ordered_json object{
      {"snr", c.snr},
      {"time_s", c.time_s},
      {"sample", c.sample},
      {"width_samples", c.width_samples},
      {"width_s", static_cast<double>(c.width_samples) / search.rate_hz.value()},
      {"dm", c.dm},
      {"dm_index", c.dm_index},
      {"members", c.members},
      {"first_sample", c.first_sample},
      {"last_sample", c.last_sample},
      {"mjd", formats::candidates::mjd_text(c, search)},
      {"mjd_inf", formats::candidates::mjd_infinite_text(c, search)},
      {"f_ref_mhz", search.f_ref_mhz},
      {"beam", c.beam},
      {"file", search.file},
      {"filled", nullptr}};
  if (c.filled) object["filled"] = *c.filled;
  if (search.injections) object["injected"] = c.injected;
  if (beams) object.update({{"beams", c.beams}, {"in_many_beams", c.beams > s.most_beams}});
  return object;
}

// Where gaps or steps cost much, or the level steps: how much was searched.
std::string searched_line(const pipeline::SearchSummary& s) {
  constexpr double kMuch = 0.1;
  const double ends = s.longest_delay_s / s.stream_s * static_cast<double>(s.searched.size());
  const bool much = 1 - s.searched_fraction > kMuch + ends;
  if (s.longest_delay_s <= 0) return {};  // of series, the delays are not known
  if (s.data_segments < 2 || (!much && s.level_steps.empty())) return {};
  return fmt::format(
      "\n  searched: at DM {:.6g} {:.3g} % of the time. Before each of the {} of data ends, pulses "
      "whose sweep (up to {:.3g} s) crosses the end are lost, or too weak",
      s.dms.back(), 100 * s.searched_fraction, core::counted(s.data_segments, "segment"),
      s.longest_delay_s);
}

void summarise_search(const Global& global, const SearchOptions& options,
                      const pipeline::SearchSummary& s) {
  const pipeline::SearchConfig& config = options.config;
  for (std::size_t i = 0; global.json && i < s.candidates.size(); ++i)
    print_json("tautline.candidate", 1, candidate_json(s.candidates[i], s, config.beams));
  nlohmann::ordered_json object = summary_fields(config, s);
  object["files"] = s.paths;
  object["candidates"] = s.candidates.size();
  object["detections"] = s.detections;
  object["cutouts"] = s.cutouts;
  object["widths"] = s.widths;
  object["passes"] = s.passes;
  object["data_segments"] = s.data_segments;
  object["noise_of_width"] = pipeline::noise_json(s);
  object["search_kernels"] = s.detect_backend;
  std::string injected;
  if (config.inject.every_s > 0) {
    object["injected"] = s.injections.injected;
    object["recalled"] = s.injections.recalled;
    object["snr_ratio"] = s.injections.snr_ratio;
    object["clipped_samples"] = s.clipped;
    injected = fmt::format(
        "  injected: {} of {} recalled, S/N {:.3f} of theirs on average; {} samples clipped; "
        "marked "
        "in the list\n",
        s.injections.recalled, core::counted(s.injections.injected, "pulse"),
        s.injections.snr_ratio, s.clipped);
  }
  std::string cutouts;
  if (!config.cutout_folder.empty())
    cutouts = fmt::format(
        "  {} in {}{}\n", core::counted(s.cutouts, "cut-out"), config.cutout_folder,
        s.cutouts < s.candidates.size() ? ", the highest S/N first (--max-cutouts)" : "");
  std::string beams;
  if (config.beams) {
    object["beams"] = config.inputs.size();
    object["in_many_beams"] = s.in_many_beams;
    beams = fmt::format("  {}; in more than {} at once: {}\n",
                        core::counted(config.inputs.size(), "beam"), s.most_beams,
                        core::counted(s.in_many_beams, "candidate"));
  }
  print_summary(
      global, "tautline.search", object,
      fmt::format("{}: {} from {}, {}, {}\n{}{}{}{}{}\n"
                  "  kernels: {}; search {}\n{}\n",
                  config.output, core::counted(s.candidates.size(), "candidate"),
                  core::counted(s.detections, "detection"), core::counted(s.trials, "trial"),
                  channels_text(s, config.zero_dm),
                  formats::candidates::table(s.candidates, options.from_top, config.beams),
                  injected, beams, cutouts, speed_line(s.stream_s, s.elapsed_s), s.backend,
                  s.detect_backend, counted_line(s) + searched_line(s)),
      &s.profile);
}

// --plan: what a search would do. Its text is the result, so it goes to standard output.
int plan_search(const Global& global, SearchOptions& options) {
  pipeline::SearchConfig& config = options.config;
  options.run.dms.fill(config);
  std::string text;
  const pipeline::SearchSummary s = pipeline::plan_search(
      config, open_device(global), [&](const std::string& plan) { text = plan; });
  if (!global.json) {
    fmt::print("{}\n", option_words().text(text));
    return kDone;
  }
  const auto [least, most] = pipeline::dm_steps(s.dms);
  print_json("tautline.search.plan", 1,
             {{"inputs", config.inputs},
              {"trials", s.trials},
              {"low_dm", s.dms.front()},
              {"high_dm", s.dms.back()},
              {"least_dm_step", least},
              {"greatest_dm_step", most},
              {"dm_constant", config.dm_constant},
              {"widths_samples", s.widths_samples},
              {"passes", s.passes},
              {"methods", s.methods},
              {"channels", s.channels},
              {"ignored_channels", s.ignored_channels},
              {"samples", s.samples},
              {"data_s", s.stream_s},
              {"loss_of_snr", s.loss},
              {"loss_of_snr_by_spacing", s.spacing_loss},
              {"loss_of_snr_by_widths", s.width_loss},
              {"loss_of_snr_whole", s.whole_loss},
              {"bytes", s.bytes},
              {"kernels", s.backend},
              {"search_kernels", s.detect_backend},
              {"expected_s", s.expected_s},
              {"expected_real_time_factor", real_time_factor(s.stream_s, s.expected_s)}});
  return kDone;
}

// An option that does nothing without another one is a slip.
void refuse_without_partner(const CLI::App& command, const pipeline::SearchConfig& config) {
  const auto refuse = [&](const std::string& field, bool partner, const std::string& wanted) {
    if (!partner)
      refuse_given(command, {field}, "given alone", "only with " + wanted,
                   "leave it out, or give " + wanted);
  };
  refuse("most_plots", !config.plot_folder.empty() || !config.picture_folder.empty(),
         "`plot_folder` or `picture_folder`");
  refuse("most_cutouts", !config.cutout_folder.empty(), "`cutout_folder`");
  refuse("max_beams", config.beams, "`beams`");
}

bool search_reads_again(const pipeline::SearchConfig& config) {
  return reads_again(config) || config.beams || !config.plot_folder.empty() ||
         !config.picture_folder.empty() || !config.cutout_folder.empty();
}

// Events have their name from the start, and the list before pictures and cut-outs are made.
class SayWhatWasKept {
 public:
  explicit SayWhatWasKept(const pipeline::SearchConfig& config) {
    if (config.events.empty()) return;
    say("nothing was kept but the candidates in " + config.events + ", where it had some");
  }
  void list_has_its_name() {
    listed_ = true;
    say("the list of candidates was kept, and the pictures and cut-outs that were whole");
  }
  template <class Run>
  auto of(const Run& run) const {
    try {
      return run();
    } catch (const core::Error& error) {
      const bool full = listed_ && error.kind() == core::ErrorKind::io;
      if (kept_.empty() || (error.value() == "interrupted" ? listed_ : !full)) throw;
      throw core::Error(error.kind(), error.field(), error.value(), error.limit(), kept_);
    }
  }

 private:
  void say(const std::string& kept) {
    kept_ = kept;
    say_when_ended("interrupted; " + kept_);
  }
  std::string kept_;
  bool listed_ = false;
};

int run_search(const Global& global, SearchOptions& options) {
  pipeline::SearchConfig& config = options.config;
  const PipedInputs piped(
      global, config.inputs, formats::Contents::filterbanks, options.plan ? "" : config.output,
      config.overwrite, config.memory_bytes,
      search_reads_again(config) ? nullptr : pipeline::filterbank_comes_in_order);
  config.piped = piped.live();
  if (options.plan) return plan_search(global, options);
  if (config.output.empty())
    throw core::Error(core::ErrorKind::config, "--output", "not given",
                      "a name for the list, or --plan");
  const std::string page =
      config.plot_folder.empty()
          ? ""
          : (std::filesystem::path(config.plot_folder) / "candidates.html").string();
  formats::candidates::format_of(config.output);  // refuses names of no list
  formats::require_distinct({{"-o", config.output},
                             {"-o (its record)", config.output + ".json"},
                             {"--plot", page},
                             {"--events", config.events}},
                            files_read(config, options.run.dms));
  std::optional<pipeline::CandidatePictureFiles> pictures;
  pipeline::SearchDrawing drawing;
  if (!config.picture_folder.empty()) {
    pipeline::require_candidate_pictures(config.picture_folder, config.output, config.overwrite);
    pictures.emplace(config.picture_folder, config.overwrite, config.cutout_folder);
    drawing.picture = [&](const auto& summary) { pictures->draw(summary); };
  }
  options.run.dms.fill(config);
  config.history = history_line(global);
  config.watch = options.monitor.watch("search", {{"candidates", config.output}});
  ProgressLine line(global);
  SayWhatWasKept kept(config);
  drawing.progress = [&](std::size_t done, std::size_t all) {
    if (done == 0) kept.list_has_its_name();
    if (all > 0)
      line.show(static_cast<double>(done) / static_cast<double>(all),
                fmt::format("{} of {} pictures and cut-outs", done, all));
  };
  auto summary = kept.of([&] {
    return pipeline::search_filterbank(config, open_device(global), drawn_on(line),
                                       print_plan(global), global.stop, drawing);
  });
  if (pictures)
    summary.paths.insert(summary.paths.end(), pictures->paths().begin(), pictures->paths().end());
  summarise_search(global, options, summary);
  if (!config.beams && !piped.live())
    note_short_input(config.duration_s, summary.stream_s, summary.samples);
  return piped.status(filterbank_status(summary, options.run.strict), options.run.strict);
}

}  // namespace

void add_search(CLI::App& app, const Global& global, Action& action) {
  auto* command = app.add_subcommand("search", "filterbanks to pulse candidates");
  auto options = std::make_shared<SearchOptions>();
  add_input(*command, options->config.inputs,
            filterbanks_help() + "; or dedispersed series (" +
                formats::names_of(formats::formats_with(&formats::FileFormat::series)) +
                "), one or all trials of an observation, or their folder");
  add_output(*command, options->config.output,
             "C.csv, C.cand (heimdall's), C.singlepulse (PRESTO's) or C.your.csv (your's)");
  add_fields(*command, options->config, {"beams", "max_beams"});
  options->run.dms.add_to(*command, options->config);
  add_fields(*command, options->config,
             {"inject", "threshold", "max_width_s", "baseline_s", "noise", "links.time_samples",
              "links.dm_trials", "links.width_octaves"},
             "Search");
  add_fields(*command, options->config,
             {"events", "latency_s", "plot_folder", "picture_folder", "most_plots", "cutout_folder",
              "most_cutouts"});
  add_own(*command, options->from_top,
          {.name = "from_top", .help = "candidates to print, the brightest first"});
  add_plan(*command, options->plan,
           "trials, boxcars, passes, losses, memory and the rate to expect");
  options->run.add_input(*command, options->config);
  options->monitor.add_to(*command);
  command->footer("Example: tautline search obs.fil -o candidates.csv --dms 0:1000 --zero-dm");
  command->callback([&global, &action, options, command] {
    action = [&global, options, command] {
      refuse_without_partner(*command, options->config);
      return run_search(global, *options);
    };
  });
}

}  // namespace tautline::cli

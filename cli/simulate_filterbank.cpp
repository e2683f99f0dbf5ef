// tautline simulate filterbank: noise with dispersed pulses.
#include "cli/simulate_filterbank.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>

#include "cli/common_options.h"
#include "cli/field_options.h"
#include "cli/output_names.h"
#include "cli/run_output.h"
#include "tautline/core/counted.h"
#include "tautline/core/exact_double.h"
#include "tautline/core/time.h"
#include "tautline/formats/distinct_files.h"
#include "tautline/pipeline/simulation/simulate_filterbank.h"

namespace tautline::cli {

namespace {

constexpr double kDefaultStartMjd = 60000;

// The scene's options come on top of its file, which is read after the line is parsed.
struct SimulateFilterbankOptions {
  pipeline::SimulateFilterbankConfig config;
  std::string scene_path;
  std::vector<std::pair<std::string, std::string>> scene_texts;  // field, text
};

// Pulses and interference are added to those of the file.
template <class One>
void put_before(std::vector<One>& all, const std::vector<One>& first) {
  all.insert(all.begin(), first.begin(), first.end());
}

formats::scene::FilterbankScene scene_of(const SimulateFilterbankOptions& options) {
  formats::scene::FilterbankScene scene;
  scene.start = core::instant_of_mjd(kDefaultStartMjd);
  if (!options.scene_path.empty())
    scene = formats::scene::read_filterbank_scene(options.scene_path);
  for (const auto& [name, text] : options.scene_texts) {
    const formats::scene::FilterbankScene before = scene;
    core::set(scene, name, text);
    if (name == "pulses") put_before(scene.pulses, before.pulses);
    if (name == "impulses") put_before(scene.impulses, before.impulses);
    if (name == "carriers") put_before(scene.carriers, before.carriers);
  }
  return scene;
}

void add_scene_fields(CLI::App& command, SimulateFilterbankOptions& options,
                      const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const auto& field = fields(options.config.scene).named(name);
    const auto keep = [&options, &field](auto& text) {
      formats::scene::FilterbankScene scene;
      field.set(scene, text);  // refuses what is not allowed
      options.scene_texts.emplace_back(field.name, text);
    };
    note_field(*add_described(command, field, core::default_text(field), keep), field);
  }
}

// The sizes have no defaults that anybody would mean.
void require_sizes(const SimulateFilterbankOptions& options) {
  if (!options.scene_path.empty()) return;
  std::string missing;
  for (const std::string name : {"channels", "fch1_mhz", "foff_mhz", "tsamp_s"})
    if (std::none_of(options.scene_texts.begin(), options.scene_texts.end(),
                     [&](const auto& given) { return given.first == name; }))
      missing += (missing.empty() ? "`" : ", `") + name + "`";
  if (!missing.empty())
    throw core::Error(core::ErrorKind::config, missing, "not given",
                      "all sizes of a filterbank, or a `scene` that has them");
}

int run_simulate_filterbank(const Global& global, SimulateFilterbankOptions& options) {
  pipeline::SimulateFilterbankConfig& config = options.config;
  require_own_ending("--output", config.output, {".fil"});
  require_sizes(options);
  formats::require_distinct(
      {{"-o", config.output}, {"-o (the truth)", pipeline::filterbank_truth_path(config.output)}},
      {{"--scene", options.scene_path}});
  config.scene = scene_of(options);
  config.threads = global.threads;
  config.history = history_line(global);
  ProgressLine line(global);
  const auto s = pipeline::simulate_filterbank(config, drawn_on(line, "made"), global.stop);
  if (s.pulses_cut > 0)
    spdlog::warn("{} only in part in the file (\"whole\": false in the truth)",
                 core::counted(s.pulses_cut, "pulse is", "pulses are"));
  print_summary(global, "tautline.simulate.filterbank",
                {{"output", s.file},
                 {"truth", s.truth_path},
                 {"channels", s.channels},
                 {"samples", s.samples},
                 {"pulses", s.pulses},
                 {"clipped", s.clipped},
                 {"elapsed_s", s.elapsed_s}},
                fmt::format("{}\n  {}, {} ({:.3f} s), {}, {} clipped, made in "
                            "{:.2f} s\n  the truth: {}\n",
                            s.file, core::counted(s.channels, "channel"),
                            core::counted(s.samples, "sample"), s.stream_s,
                            core::counted(s.pulses, "pulse"), s.clipped, s.elapsed_s, s.truth_path),
                &s.profile);
  return kDone;
}

}  // namespace

void add_simulate_filterbank(CLI::App& simulate, const Global& global, Action& action) {
  auto* command = simulate.add_subcommand("filterbank", "noise with dispersed pulses");
  auto options = std::make_shared<SimulateFilterbankOptions>();
  pipeline::SimulateFilterbankConfig& config = options->config;
  command->add_option(
      "--scene", options->scene_path,
      "scene.toml with the fields below, pulses and interference; options come on top");
  add_scene_fields(*command, *options, {"channels", "fch1_mhz", "foff_mhz", "tsamp_s", "bits"});
  add_required_field(*command, config, "duration_s");
  add_scene_fields(*command, *options, {"pulses"});
  add_field(*command, config, "random_pulses");
  add_scene_fields(*command, *options, {"impulses", "carriers", "bandpass", "smearing"});
  add_field(*command, config, "dm_constant");
  add_scene_fields(*command, *options, {"name", "utc_start"});
  add_field(*command, config, "seed");
  add_required_output(*command, config.output, "X.fil; the truth goes to X.truth.json");
  add_field(*command, config, "memory_bytes");
  add_overwrite(*command, config.overwrite);
  command->footer(
      "Example: tautline simulate filterbank --nchans 336 --fch1 1465 --foff -1 --tsamp "
      "0.00126646875 "
      "--duration 60 --pulse dm=56.8,time=20,width=0.005,snr=20 -o crab.fil");
  when_chosen(*command, global, action, options, run_simulate_filterbank);
}

}  // namespace tautline::cli

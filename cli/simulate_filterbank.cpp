// tautline simulate filterbank: noise with dispersed pulses.
#include "cli/simulate_filterbank.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "cli/run_output.h"
#include "tautline/core/error.h"
#include "tautline/core/exact_double.h"
#include "tautline/core/time.h"
#include "tautline/formats/distinct_files.h"
#include "tautline/pipeline/simulate_filterbank.h"

namespace tautline::cli {

namespace {

constexpr double kDefaultStartMjd = 60000;

struct Options {
  pipeline::SimulateFilterbankConfig config;
  std::string scene_path, start, name, random_pulses, memory = "512M";
  std::size_t nchans = 0;
  int nbits = 8;
  double fch1_mhz = 0, foff_mhz = 0, tsamp_s = 0;
  std::vector<double> bandpass;
  bool smearing = false;
  std::vector<std::string> pulses, impulses, carriers;
};

// The scene of the file, or an empty one, with the options over it.
formats::scene::FilterbankScene scene_of(const CLI::App& command, const Options& options) {
  formats::scene::FilterbankScene scene;
  scene.start = core::instant_of_mjd(kDefaultStartMjd);
  if (!options.scene_path.empty())
    scene = formats::scene::read_filterbank_scene(options.scene_path);
  const auto given = [&](const char* option) { return command.count(option) > 0; };
  if (given("--nchans")) scene.channels = options.nchans;
  if (given("--fch1")) scene.fch1_mhz = options.fch1_mhz;
  if (given("--foff")) scene.foff_mhz = options.foff_mhz;
  if (given("--tsamp")) scene.tsamp_s = options.tsamp_s;
  if (given("--nbits")) scene.bits = options.nbits;
  if (given("--name")) scene.name = options.name;
  if (given("--bandpass")) scene.bandpass = options.bandpass;
  if (options.smearing) scene.smearing = true;
  if (given("--utc-start")) scene.start = utc_option("--utc-start", options.start);
  for (const std::string& text : options.pulses)
    scene.pulses.push_back(formats::scene::parse_pulse(text));
  for (const std::string& text : options.impulses)
    scene.impulses.push_back(formats::scene::parse_impulse(text));
  for (const std::string& text : options.carriers)
    scene.carriers.push_back(formats::scene::parse_carrier(text));
  return scene;
}

int run(const Global& global, const CLI::App& command, Options& options) {
  pipeline::SimulateFilterbankConfig& config = options.config;
  formats::require_distinct(
      {{"-o", config.output}, {"-o (the truth)", pipeline::filterbank_truth_path(config.output)}},
      {{"--scene", options.scene_path}});
  config.scene = scene_of(command, options);
  if (!options.random_pulses.empty())
    config.random_pulses = pipeline::parse_random_pulses(options.random_pulses);
  config.threads = global.threads;
  config.memory_bytes = parse_bytes(options.memory);
  config.history = history_line(global);
  ProgressLine line(global);
  const auto s = pipeline::simulate_filterbank(config, drawn_on(line, "made"), global.stop);
  if (!s.pulses_outside_s.empty())
    spdlog::warn("{} outside the file, which ends at {:.6g} s: of the time {:.6g} s{}",
                 counted(s.pulses_outside_s.size(), "pulse is", "pulses are"), s.stream_s,
                 s.pulses_outside_s.front(), s.pulses_outside_s.size() > 1 ? " and others" : "");
  if (s.pulses_cut > 0)
    spdlog::warn("{} only in part in the file (\"whole\": false in the truth)",
                 counted(s.pulses_cut, "pulse is", "pulses are"));
  print_summary(
      global, "tautline.simulate.filterbank",
      {{"output", s.file},
       {"truth", s.truth_path},
       {"channels", s.channels},
       {"samples", s.samples},
       {"pulses", s.pulses},
       {"clipped", s.clipped},
       {"elapsed_s", s.elapsed_s}},
      fmt::format("{}\n  {}, {} ({:.3f} s), {}, {} clipped, made in "
                  "{:.2f} s\n  the truth: {}\n",
                  s.file, counted(s.channels, "channel"), counted(s.samples, "sample"), s.stream_s,
                  counted(s.pulses, "pulse"), s.clipped, s.elapsed_s, s.truth_path));
  return kDone;
}

}  // namespace

void add_simulate_filterbank(CLI::App& simulate, const Global& global, Action& action) {
  auto* command = simulate.add_subcommand("filterbank", "noise with dispersed pulses");
  auto options = std::make_shared<Options>();
  pipeline::SimulateFilterbankConfig& config = options->config;
  command->add_option(
      "--scene", options->scene_path,
      "scene.toml with the fields below, pulses and interference; options come on top");
  command->add_option("--nchans", options->nchans, "channels");
  command->add_option("--fch1", options->fch1_mhz, "MHz, centre of the first channel");
  command->add_option("--foff", options->foff_mhz, "MHz to the next channel, with its sign");
  command->add_option("--tsamp", options->tsamp_s, "seconds of a sample");
  command->add_option("--nbits", options->nbits, "1, 2, 4, 8, 16, or 32 (float)")
      ->capture_default_str();
  command->add_option("--duration", config.duration_s, "seconds")->required();
  command
      ->add_option("--pulse", options->pulses,
                   "dm=,time=,width=,snr= and if wanted index=,scattering=: pc cm^-3 and seconds; "
                   "width is the full width at half maximum, time that of the highest channel; "
                   "may be given often")
      ->allow_extra_args(false);
  command->add_option("--random-pulses", options->random_pulses,
                      "count=,dm=LOW:HIGH,width=LOW:HIGH,snr=LOW:HIGH: evenly spaced in time");
  command
      ->add_option("--impulse", options->impulses,
                   "time=,duration=,amplitude=: interference in all channels at once, in their rms")
      ->allow_extra_args(false);
  command
      ->add_option("--carrier", options->carriers,
                   "frequency=,amplitude= and if wanted width=,start=,duration=,period=,duty=: "
                   "interference at a frequency (MHz)")
      ->allow_extra_args(false);
  command
      ->add_option("--bandpass", options->bandpass,
                   "relative gains from the first channel to the last, linear between; default: 1")
      ->delimiter(',');
  command->add_flag("--smearing", options->smearing, "pulses are smeared within channels");
  command->add_option("--dm-constant", config.dm_constant, "s MHz^2 per pc cm^-3")
      ->capture_default_str();
  command->add_option("--name", options->name, "of the source; default: simulated");
  command->add_option("--utc-start", options->start,
                      "yyyy-mm-dd-hh:mm:ss of the first sample; default: MJD 60000");
  command->add_option("--seed", config.seed, "the same seed gives the same file")
      ->capture_default_str();
  command->add_option("-o,--output", config.output, "X.fil; the truth goes to X.truth.json")
      ->required();
  command->add_option("--memory", options->memory, "cap on the memory used")->capture_default_str();
  command->add_flag("--overwrite", config.overwrite, "replace existing files");
  command->footer(
      "Example: tautline simulate filterbank --nchans 336 --fch1 1465 --foff -1 --tsamp "
      "0.00126646875 "
      "--duration 60 --pulse dm=56.8,time=20,width=0.005,snr=20 -o crab.fil");
  command->callback([&global, &action, options, command] {
    action = [&global, options, command] { return run(global, *command, *options); };
  });
}

}  // namespace tautline::cli

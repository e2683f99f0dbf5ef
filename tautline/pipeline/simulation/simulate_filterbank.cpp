#include "tautline/pipeline/simulation/simulate_filterbank.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <utility>

#include "tautline/core/byte_text.h"
#include "tautline/core/error.h"
#include "tautline/core/exact_double.h"
#include "tautline/core/field_text.h"
#include "tautline/device/device.h"
#include "tautline/formats/sigproc/writers.h"
#include "tautline/pipeline/graph_run.h"
#include "tautline/pipeline/search/filterbank_source_node.h"
#include "tautline/pipeline/simulation/output_node.h"
#include "tautline/pipeline/simulation/simulated_filterbank.h"
#include "tautline/pipeline/simulation/truth_name.h"

namespace tautline::pipeline {

namespace {

using core::Error;
using core::ErrorKind;
using Json = nlohmann::ordered_json;

// The message has only the expectation, so that the command can name the key, too.
[[noreturn]] void refuse_random(const std::string& key, std::string_view value,
                                const std::string& expected) {
  throw Error(ErrorKind::config, "`random_pulses`: " + key, std::string(value),
              key + ": " + expected);
}

// "3" or "2:5".
void parse_range(const std::string& key, std::string_view text, double& low, double& high) {
  const std::size_t colon = text.find(':');
  const auto number = [&](std::string_view part) {
    double value = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
    if (error != std::errc() || end != part.data() + part.size() || !std::isfinite(value))
      refuse_random(key, text, "LOW:HIGH or a number");
    return value;
  };
  low = number(text.substr(0, colon));
  high = colon == std::string_view::npos ? low : number(text.substr(colon + 1));
  if (high < low) refuse_random(key, text, "LOW below HIGH");
}

std::uint64_t samples_of(const SimulateFilterbankConfig& config) {
  const double samples = std::nearbyint(config.duration_s / config.scene.tsamp_s);
  constexpr double kMost = 1e15;
  if (!(samples >= 1))
    throw Error(ErrorKind::config, "duration_s", fmt::format("{} s", config.duration_s),
                fmt::format("at least one sample of {} s", config.scene.tsamp_s));
  if (samples > kMost)
    throw Error(ErrorKind::config, "duration_s", fmt::format("{} s", config.duration_s),
                fmt::format("at most {:g} s, {:g} samples of {:g} s", kMost * config.scene.tsamp_s,
                            kMost, config.scene.tsamp_s));
  return static_cast<std::uint64_t>(samples);
}

formats::scene::FilterbankScene with_random_pulses(const SimulateFilterbankConfig& config) {
  formats::scene::FilterbankScene scene = config.scene;
  formats::scene::check_filterbank_scene(scene);
  const RandomPulses& wanted = config.random_pulses;
  std::mt19937_64 random(config.seed ^ 0x70756C736573);
  const auto draw = [&](double low, double high) {
    // Not std::uniform_real_distribution, whose values differ between libraries.
    return low + (high - low) * (static_cast<double>(random() >> 11) * 0x1p-53);
  };
  const double share_s =
      config.duration_s / static_cast<double>(std::max<std::size_t>(wanted.count, 1));
  for (std::size_t k = 0; k < wanted.count; ++k) {
    formats::scene::DispersedPulse pulse;
    pulse.dm = draw(wanted.dm_low, wanted.dm_high);
    pulse.width_s = draw(wanted.width_s_low, wanted.width_s_high);
    pulse.snr = draw(wanted.snr_low, wanted.snr_high);
    pulse.time_s = (static_cast<double>(k) + draw(0.25, 0.75)) * share_s;
    scene.pulses.push_back(pulse);
  }
  formats::scene::check_filterbank_scene(scene);
  return scene;
}

formats::sigproc::Header header_of(const formats::scene::FilterbankScene& scene) {
  formats::sigproc::Header header;
  header.source_name = scene.name;
  header.rawdatafile = "simulated by tautline";
  header.nchans = scene.channels;
  header.nbits = scene.bits;
  header.fch1_mhz = scene.fch1_mhz;
  header.foff_mhz = scene.foff_mhz;
  header.tstart_mjd = core::modified_julian_date(scene.start);
  header.tsamp_s = scene.tsamp_s;
  return header;
}

class FilterbankFile final : public simulation::OutputWriter {
 public:
  FilterbankFile(const std::string& path, const formats::scene::FilterbankScene& scene,
                 bool overwrite)
      : writer_(path, header_of(scene), overwrite) {}

  void write(const engine::Block& block) override {
    const auto samples = block.view<2>();
    if (samples.type() == core::SampleType::f32)
      write<float>(samples);
    else if (samples.type() == core::SampleType::u16)
      write<std::uint16_t>(samples);
    else
      write<std::uint8_t>(samples);
  }
  void finish() override { writer_.finish(); }

 private:
  template <class Value>
  void write(const core::SampleView<2>& samples) {
    writer_.write(std::span(static_cast<const Value*>(samples.data()),
                            samples.extent(0) * samples.extent(1)));
  }

  formats::sigproc::FilterbankWriter writer_;
};

class FilterbankSimulation {
 public:
  explicit FilterbankSimulation(const SimulateFilterbankConfig& config)
      : config_(config),
        scene_(with_random_pulses(config)),
        samples_(samples_of(config)),
        simulator_(std::make_shared<simulation::FilterbankSimulator>(scene_, config.dm_constant,
                                                                     config.seed)) {
    refuse_outside();
  }

  std::unique_ptr<simulation::SimulatedFilterbank> reader(std::size_t threads) const {
    return std::make_unique<simulation::SimulatedFilterbank>(scene_, samples_, simulator_, threads);
  }
  SimulateFilterbankSummary run(const ProgressCallback& progress, std::stop_token stop);

 private:
  // The number of pieces of a block at most, the number of threads that make them, and the memory
  // of both.
  struct Cut {
    std::size_t threads = 1, pieces = 1, bytes = 0;
  };
  Cut choose_cut() const;
  std::string truth(std::uint64_t clipped) const;
  // Pulses and interference that are in no sample or in no channel.
  void refuse_outside() const {
    const double length_s = static_cast<double>(samples_) * scene_.tsamp_s;
    const auto refuse = [&](const char* field, double time_s, const char* what) {
      throw Error(ErrorKind::config, field, fmt::format("{:.6g} s", time_s),
                  fmt::format("{} with a part in the data, 0 to {:.6g} s", what, length_s),
                  "give another time, or a longer `duration_s`");
    };
    for (const simulation::SimulatedPulse& pulse : simulator_->pulses())
      if (pulse.last_sample() <= 0 || pulse.first_sample() >= static_cast<double>(samples_))
        refuse("`pulses`: time", pulse.pulse().time_s, "a pulse");
    for (const auto& impulse : scene_.impulses)
      if (impulse.time_s + impulse.duration_s <= 0 || impulse.time_s >= length_s)
        refuse("`impulses`: time", impulse.time_s, "an impulse");
    const double last_mhz =
        scene_.fch1_mhz + static_cast<double>(scene_.channels - 1) * scene_.foff_mhz;
    const auto [low_mhz, high_mhz] = std::minmax(scene_.fch1_mhz, last_mhz);
    for (const auto& carrier : scene_.carriers) {
      const double half_mhz = std::max(carrier.width_mhz, std::abs(scene_.foff_mhz)) / 2;
      if (carrier.start_s >= length_s) refuse("`carriers`: start", carrier.start_s, "a carrier");
      if (carrier.frequency_mhz < low_mhz - half_mhz || carrier.frequency_mhz > high_mhz + half_mhz)
        throw Error(
            ErrorKind::config, "`carriers`: frequency",
            fmt::format("{:.10g} MHz", carrier.frequency_mhz),
            fmt::format("a frequency in the band, {:.10g} to {:.10g} MHz", low_mhz, high_mhz));
    }
  }
  bool is_whole(const simulation::SimulatedPulse& pulse) const {
    return pulse.first_sample() >= 0 && pulse.last_sample() <= static_cast<double>(samples_);
  }

  const SimulateFilterbankConfig& config_;
  formats::scene::FilterbankScene scene_;
  std::uint64_t samples_;
  std::shared_ptr<const simulation::FilterbankSimulator> simulator_;
};

FilterbankSimulation::Cut FilterbankSimulation::choose_cut() const {
  // Several pieces for each thread, so that all are busy until a block ends; one block is written
  // while the next one is made.
  constexpr std::size_t kPerThread = 4, kBlocks = 2;
  const std::size_t stored_bytes = simulator_->piece_samples() * scene_.channels *
                                   (scene_.bits > 16  ? sizeof(float)
                                    : scene_.bits > 8 ? sizeof(std::uint16_t)
                                                      : 1);
  Cut cut;
  cut.threads = device::open({}, {.threads = config_.threads})->make_queue()->workers();
  cut.pieces = kPerThread * cut.threads;
  const auto bytes = [&] {
    return cut.threads * simulator_->piece_bytes() + kBlocks * cut.pieces * stored_bytes;
  };
  while (bytes() > config_.memory_bytes) {
    if (cut.pieces > 1)
      --cut.pieces;
    else if (cut.threads > 1)
      --cut.threads;
    else
      throw Error(ErrorKind::memory, "memory", core::byte_text(bytes()) + " needed",
                  "at most " + core::byte_text(config_.memory_bytes), "raise `memory_bytes`");
  }
  cut.bytes = bytes();
  return cut;
}

std::string FilterbankSimulation::truth(std::uint64_t clipped) const {
  Json pulses = Json::array(), impulses = Json::array(), carriers = Json::array();
  for (const simulation::SimulatedPulse& placed : simulator_->pulses()) {
    const auto& p = placed.pulse();
    pulses.push_back({{"dm", p.dm},
                      {"time_s", p.time_s},
                      {"sample", static_cast<std::int64_t>(std::floor(p.time_s / scene_.tsamp_s))},
                      {"width_s", p.width_s},
                      {"width_samples", p.width_s / scene_.tsamp_s},
                      {"snr", p.snr},
                      {"spectral_index", p.spectral_index},
                      {"scattering_s", p.scattering_s},
                      {"sweep_s", placed.sweep_s()},
                      {"peak_steps", placed.peak_steps()},
                      {"whole", is_whole(placed)}});
  }
  for (const auto& i : scene_.impulses)
    impulses.push_back(
        {{"time_s", i.time_s}, {"duration_s", i.duration_s}, {"amplitude", i.amplitude}});
  for (const auto& c : scene_.carriers)
    carriers.push_back({{"frequency_mhz", c.frequency_mhz},
                        {"width_mhz", c.width_mhz},
                        {"amplitude", c.amplitude},
                        {"start_s", c.start_s},
                        {"duration_s", c.duration_s},
                        {"period_s", c.period_s},
                        {"duty", c.duty}});
  const Json truth{{"schema", "tautline.simulation.filterbank"},
                   {"version", 1},
                   {"history", config_.history},
                   {"file", config_.output},
                   {"seed", config_.seed},
                   {"nchans", scene_.channels},
                   {"fch1_mhz", scene_.fch1_mhz},
                   {"foff_mhz", scene_.foff_mhz},
                   {"tsamp_s", scene_.tsamp_s},
                   {"nbits", scene_.bits},
                   {"samples", samples_},
                   {"start_utc", core::to_iso(scene_.start)},
                   {"start_mjd", core::modified_julian_date(scene_.start)},
                   {"f_ref_mhz", simulator_->receiver().f_ref_mhz},
                   {"dm_constant", config_.dm_constant},
                   {"smearing", scene_.smearing},
                   {"mean_steps", simulator_->mean_steps()},
                   {"rms_steps", simulator_->rms_steps()},
                   {"bandpass", scene_.bandpass},
                   {"summed_rms_steps", simulator_->receiver().summed_rms()},
                   {"clipped", clipped},
                   {"pulses", pulses},
                   {"impulses", impulses},
                   {"carriers", carriers}};
  return truth.dump(1) + "\n";
}

SimulateFilterbankSummary FilterbankSimulation::run(const ProgressCallback& progress,
                                                    std::stop_token stop) {
  SimulateFilterbankSummary summary;
  summary.truth_path = filterbank_truth_path(config_.output);
  simulation::refuse_existing(summary.truth_path, config_.output, config_.overwrite);
  simulation::require_room(
      config_.output,
      static_cast<double>(samples_) * static_cast<double>(scene_.channels) * (scene_.bits / 8.0));
  ProgressReporter reporter(progress);
  const Cut cut = choose_cut();
  const std::shared_ptr<simulation::SimulatedFilterbank> made = reader(cut.threads);
  FilterbankSourceConfig whole;
  whole.parts = {{{{0, samples_}, 0}, 1, 0}};
  whole.block_samples = static_cast<std::size_t>(
      std::min<std::uint64_t>(cut.pieces * simulator_->piece_samples(), samples_));
  engine::Graph graph;
  const engine::NodeId from =
      graph.add("filterbank", std::make_unique<FilterbankSourceNode>(*made, std::move(whole)));
  const simulation::TruthOutput truth_file{summary.truth_path, config_.overwrite,
                                           [&] { return truth(made->clipped()); }};
  const auto make_writer = [this] {
    return std::make_unique<FilterbankFile>(config_.output, scene_, config_.overwrite);
  };
  graph.connect(
      from, graph.add("file", std::make_unique<simulation::OutputNode>(truth_file, make_writer)),
      {.depth = 1});
  engine::Run run(std::move(graph), run_options(reporter, made->description().rate_hz));
  run.go(std::move(stop));

  summary.channels = scene_.channels;
  summary.pulses = simulator_->pulses().size();
  for (const simulation::SimulatedPulse& pulse : simulator_->pulses()) {
    if (!is_whole(pulse)) ++summary.pulses_cut;
  }
  summary.samples = samples_;
  summary.clipped = made->clipped();
  summary.elapsed_s = reporter.elapsed_s();
  summary.stream_s = static_cast<double>(samples_) * scene_.tsamp_s;
  summary.memory_bytes = cut.bytes;
  summary.file = config_.output;
  summary.profile = run.profile();
  return summary;
}

}  // namespace

RandomPulses parse_random_pulses(const std::string& text) {
  RandomPulses pulses;
  double count = 0, most = 0;
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::string_view item = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), item.size() + 1));
    const std::string key(item.substr(0, item.find('=')));
    const std::string_view value = item.substr(std::min(item.size(), key.size() + 1));
    if (key == "count")
      parse_range(key, value, count, most);
    else if (key == "dm")
      parse_range(key, value, pulses.dm_low, pulses.dm_high);
    else if (key == "width")
      parse_range(key, core::text::in_seconds(std::string(value)), pulses.width_s_low,
                  pulses.width_s_high);
    else if (key == "snr")
      parse_range(key, value, pulses.snr_low, pulses.snr_high);
    else
      throw Error(ErrorKind::config, "random_pulses", std::string(item),
                  "count=, dm=, width= and snr=");
  }
  if (!(count >= 0 && count <= 1e6 && count == std::floor(count)))
    refuse_random("count", fmt::format("{}", count), "0 to 1000000");
  if (count > 0 && !(pulses.width_s_low > 0))
    refuse_random("width", fmt::format("{}", pulses.width_s_low), "above 0 s");
  pulses.count = static_cast<std::size_t>(count);
  return pulses;
}

std::string filterbank_truth_path(const std::string& output) {
  return simulation::truth_name(output, {".fil"});
}

SimulateFilterbankSummary simulate_filterbank(const SimulateFilterbankConfig& config,
                                              const ProgressCallback& progress,
                                              std::stop_token stop) {
  if (config.output.empty())
    throw Error(ErrorKind::config, "output", "missing", "the name of a .fil file");
  core::check(config);
  return FilterbankSimulation(config).run(progress, std::move(stop));
}

std::unique_ptr<formats::FilterbankReader> open_simulated_filterbank(
    const SimulateFilterbankConfig& config) {
  core::check(config);
  return FilterbankSimulation(config).reader(config.threads);
}

}  // namespace tautline::pipeline

#include "tautline/pipeline/simulation/simulate_photons.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "tautline/core/byte_text.h"
#include "tautline/core/counted.h"
#include "tautline/core/error.h"
#include "tautline/core/field_text.h"
#include "tautline/core/frequency_text.h"
#include "tautline/core/nearest_name.h"
#include "tautline/core/stopwatch.h"
#include "tautline/device/device.h"
#include "tautline/engine/run.h"
#include "tautline/pipeline/photons/count_source_node.h"
#include "tautline/pipeline/simulation/output_node.h"
#include "tautline/pipeline/simulation/photon_writers.h"
#include "tautline/pipeline/simulation/truth_name.h"

namespace tautline::pipeline {

namespace {

using Json = nlohmann::ordered_json;
using core::Error;
using core::ErrorKind;
using simulation::PhotonClock;
using simulation::PhotonModel;
using simulation::PhotonSource;
using simulation::SimulatedPhotons;
using simulation::SourcePhoton;

// Brightness is constant for a step of at most this part of the fastest diffusion time; a curve
// between two multiples of a step is then the chord of the true curve, off by at most 3e-4 of its
// height.
constexpr double kStepsPerDiffusionTime = 20;
constexpr double kTagResolution_s = 1e-12;         // T2
constexpr double kMicrotimeResolution_s = 16e-12;  // T3
// A bin has this many ticks, which place photons inside it.
constexpr std::uint64_t kTicksPerBin = std::uint64_t{1} << 16;

struct PhotonPlan {
  PhotonModel model;
  PhotonClock clock;
  double step_s = 0;
  std::uint64_t ticks_per_step = 1;
  std::uint64_t blocks = 0;
  bool tags = false, npy = false;
  std::vector<std::uint64_t> sensor_shape;
  std::size_t memory_bytes = 0;
};

void require(bool fine, const std::string& field, const std::string& value,
             const std::string& limit, const std::string& advice = {}) {
  if (!fine) throw Error(ErrorKind::config, field, value, limit, advice);
}

void require_positive(const std::string& field, double value) {
  require(std::isfinite(value) && value > 0, field, fmt::format("{}", value), "more than 0");
}

void require_not_negative(const std::string& field, double value) {
  require(std::isfinite(value) && value >= 0, field, fmt::format("{}", value), "0 or more");
}

void check_model(const SimulatePhotonsConfig& c) {
  require(!c.model.species.empty(), "model", "none", "diffusion:n=,tau=,rate=");
  for (const simulation::DiffusingSpecies& one : c.model.species) {
    require_positive("`model`: n", one.n);
    require_positive("`model`: tau", one.tau_s);
    require_not_negative("`model`: rate", one.rate_hz);
    require(one.n <= 1e5, "`model`: n", fmt::format("{}", one.n), "at most 100,000");
  }
  require(c.model.kappa >= 1 && c.model.kappa <= 20, "`model`: kappa",
          fmt::format("{}", c.model.kappa), "1 to 20");
  require(c.model.afterpulsing >= 0 && c.model.afterpulsing < 0.5, "afterpulsing",
          fmt::format("{}", c.model.afterpulsing), "a probability from 0 to 0.5");
  require_positive("`afterpulsing`: delay", c.model.afterpulse_tau_s);
  for (const std::size_t sensor : c.hot_sensors)
    require(sensor < c.sensors, "hot_sensors", std::to_string(sensor),
            "less than the " + core::counted(c.sensors, "sensor"));
  require(c.rows * c.columns == c.sensors || (c.rows == 0 && c.columns == 0), "shape",
          fmt::format("{}x{}", c.rows, c.columns),
          "a product of " + std::to_string(c.sensors) + ", the sensors");
}

double fastest_tau_s(const PhotonModel& model) {
  double tau_s = model.species.front().tau_s;
  for (const auto& one : model.species) tau_s = std::min(tau_s, one.tau_s);
  return tau_s;
}

// Steps are whole bins, or a power of two of them makes a bin.
void plan_counts(const SimulatePhotonsConfig& c, PhotonPlan& plan) {
  const double longest_s = fastest_tau_s(c.model) / kStepsPerDiffusionTime;
  plan.clock.tick_s = c.bin_s / static_cast<double>(kTicksPerBin);
  plan.clock.ticks_per_bin = kTicksPerBin;
  plan.clock.bins = static_cast<std::uint64_t>(c.duration_s / c.bin_s + 1e-6);
  require(plan.clock.bins >= 1, "duration_s", fmt::format("{} s", c.duration_s),
          fmt::format("at least one bin of {} s", c.bin_s));
  require(static_cast<double>(plan.clock.bins) < 0x1p46, "duration_s",
          fmt::format("{} bins", plan.clock.bins), "fewer than 2^46 bins");
  plan.clock.ticks = plan.clock.bins * kTicksPerBin;
  if (c.bin_s <= longest_s) {
    plan.ticks_per_step =
        kTicksPerBin * static_cast<std::uint64_t>(std::min(longest_s / c.bin_s + 1e-9, 1e9));
  } else {
    const double steps = std::ceil(c.bin_s / longest_s - 1e-9);
    require(steps <= PhotonSource::kBlockSteps, "bin_s", fmt::format("{} s", c.bin_s),
            fmt::format("at most {} s, for a diffusion time of {} s",
                        longest_s * PhotonSource::kBlockSteps, fastest_tau_s(c.model)));
    plan.ticks_per_step = kTicksPerBin / std::bit_ceil(static_cast<std::uint64_t>(steps));
  }
}

void plan_tags(const SimulatePhotonsConfig& c, PhotonPlan& plan) {
  const double longest_s = fastest_tau_s(c.model) / kStepsPerDiffusionTime;
  plan.clock.tick_s = kTagResolution_s;
  if (c.t3) {
    require(c.sync_rate_hz >= 1e3 && c.sync_rate_hz <= 1e9, "sync_rate_hz",
            fmt::format("{}", c.sync_rate_hz), "1e3 to 1e9 Hz");
    plan.clock.tick_s = 1 / c.sync_rate_hz;
    plan.model.period_s = plan.clock.tick_s;
    // The number of microtimes is limited by the bits of a record.
    plan.model.microtime_unit_s = std::max(kMicrotimeResolution_s, plan.model.period_s / 32767);
  }
  const std::size_t most = c.t3 ? 64 : 63;
  require(c.sensors <= most, "sensors", std::to_string(c.sensors),
          fmt::format("at most {}, the detectors of a PTU file", most), "write counts (.npy)");
  require(c.duration_s / plan.clock.tick_s < 0x1p62, "duration_s",
          fmt::format("{} s", c.duration_s), "what 62 bits count");
  plan.clock.ticks = static_cast<std::uint64_t>(std::llround(c.duration_s / plan.clock.tick_s));
  plan.ticks_per_step =
      std::max<std::uint64_t>(1, static_cast<std::uint64_t>(longest_s / plan.clock.tick_s));
}

// Photons a second of all sensors, without afterpulses.
double rate_of_all_hz(const SimulatePhotonsConfig& c) {
  double rate_hz = c.model.background_hz;
  for (const auto& one : c.model.species) rate_hz += one.rate_hz;
  return static_cast<double>(c.sensors) * rate_hz +
         static_cast<double>(c.hot_sensors.size()) * c.hot_rate_hz;
}

// The size of the file, with the expected number of tags.
double output_bytes(const SimulatePhotonsConfig& c, const PhotonPlan& plan) {
  constexpr double kTagBytes = 4;
  if (plan.tags) return kTagBytes * rate_of_all_hz(c) * c.duration_s;
  return static_cast<double>(plan.clock.bins) * static_cast<double>(c.sensors) * (c.bits / 8.0);
}

std::size_t expected_bytes(const SimulatePhotonsConfig& c, const PhotonPlan& plan) {
  const double block_s = plan.step_s * PhotonSource::kBlockSteps;
  const double all = rate_of_all_hz(c);
  // Vectors of photons grow by doubling, and there are two blocks of them.
  const double photons = 4 * all * block_s * sizeof(SourcePhoton);
  return c.sensors * PhotonSource::bytes(plan.model) + static_cast<std::size_t>(photons) +
         (std::size_t{8} << 20);
}

PhotonPlan make_plan(const SimulatePhotonsConfig& c) {
  check_model(c);
  PhotonPlan plan;
  plan.model = c.model;
  plan.tags = c.output.ends_with(".ptu");
  plan.npy = c.output.ends_with(".npy");
  if (plan.tags)
    plan_tags(c, plan);
  else
    plan_counts(c, plan);
  plan.step_s = static_cast<double>(plan.ticks_per_step) * plan.clock.tick_s;
  const std::uint64_t block_ticks = plan.ticks_per_step * PhotonSource::kBlockSteps;
  plan.blocks = (plan.clock.ticks + block_ticks - 1) / block_ticks;
  plan.sensor_shape = c.rows > 0 ? std::vector<std::uint64_t>{c.rows, c.columns}
                                 : std::vector<std::uint64_t>{c.sensors};
  plan.memory_bytes = expected_bytes(c, plan);
  if (plan.memory_bytes > c.memory_bytes)
    throw Error(
        ErrorKind::memory, "memory", core::byte_text(c.memory_bytes),
        "at least " + core::byte_text(plan.memory_bytes),
        "raise `memory_bytes`, or simulate fewer sensors, fewer particles (n) or shorter diffusion "
        "times (tau)");
  return plan;
}

std::string truth_text(const SimulatePhotonsConfig& c, const PhotonPlan& plan,
                       std::uint64_t photons) {
  double particles_hz = 0;
  for (const auto& one : c.model.species) particles_hz += one.rate_hz;
  const double total_hz = particles_hz + c.model.background_hz;
  Json species = Json::array();
  double g0 = 0, offset = 0;
  for (const auto& one : c.model.species) {
    const std::size_t particles = simulation::particles_of(one.n);
    const double n = simulation::n_of(particles);
    const double part = total_hz > 0 ? one.rate_hz / total_hz : 0;
    g0 += part * part / n;
    offset -= part * part / static_cast<double>(particles);
    species.push_back(
        {{"n", n}, {"tau_s", one.tau_s}, {"rate_hz", one.rate_hz}, {"particles", particles}});
  }
  Json truth{{"schema", "tautline.truth.photons"},
             {"version", 1},
             {"history", c.history},
             {"file", c.output},
             {"seed", c.seed},
             {"sensors", c.sensors},
             {"shape", plan.sensor_shape},
             {"duration_s", static_cast<double>(plan.clock.ticks) * plan.clock.tick_s},
             {"bin_s", plan.tags ? 0 : c.bin_s},
             {"step_s", plan.step_s},
             {"photons", photons},
             {"model", {{"species", species}, {"kappa", c.model.kappa}}},
             {"background_hz", c.model.background_hz},
             {"hot_sensors", c.hot_sensors},
             {"hot_rate_hz", c.hot_rate_hz},
             {"afterpulsing", c.model.afterpulsing},
             {"afterpulse_tau_s", c.model.afterpulse_tau_s},
             {"expected", {{"g0", g0}, {"offset", offset}, {"mean_rate_hz", total_hz}}}};
  if (plan.tags) {
    truth["tags"] = {{"mode", c.t3 ? "T3" : "T2"},
                     {"clock_s", plan.clock.tick_s},
                     {"microtime_unit_s", plan.model.microtime_unit_s},
                     {"lifetime_s", c.model.lifetime_s}};
  }
  return truth.dump(2) + "\n";
}

std::string truth_path_of(const std::string& output) {
  return simulation::truth_name(output, {".npy", ".ptu", ".u8", ".u16", ".raw"});
}

std::unique_ptr<simulation::OutputWriter> make_photon_writer(const SimulatePhotonsConfig& c,
                                                             const PhotonPlan& plan) {
  if (plan.tags)
    return simulation::make_tag_writer(c.output, plan.clock, c.sensors, c.t3 ? c.sync_rate_hz : 0,
                                       plan.model.microtime_unit_s, c.overwrite);
  return simulation::make_count_writer(c.output, plan.clock, plan.sensor_shape, c.bits, plan.npy,
                                       c.overwrite);
}

std::vector<PhotonSource> make_sources(const SimulatePhotonsConfig& c, const PhotonPlan& plan) {
  std::vector<PhotonSource> sources;
  sources.reserve(c.sensors);
  for (std::size_t s = 0; s < c.sensors; ++s) {
    const bool hot =
        std::find(c.hot_sensors.begin(), c.hot_sensors.end(), s) != c.hot_sensors.end();
    sources.emplace_back(plan.model, hot ? c.hot_rate_hz : 0.0, plan.step_s, plan.ticks_per_step,
                         c.seed, static_cast<std::uint32_t>(s));
  }
  return sources;
}

// Gives "simulated photons"; sensors are made side by side.
class PhotonSimulation final : public engine::Node {
 public:
  PhotonSimulation(const SimulatePhotonsConfig& config, const PhotonPlan& plan)
      : config_(config), plan_(plan) {}

  std::vector<engine::Stream> open(std::span<const engine::Stream>) override {
    const std::uint64_t per_step = plan_.ticks_per_step;
    return {{.kind = "simulated photons",
             .arrays = {},
             .rate_hz = rate_of_bins(plan_.step_s),
             .total_samples = (plan_.clock.ticks + per_step - 1) / per_step,
             .max_samples = PhotonSource::kBlockSteps}};
  }
  device::MemoryUse bytes() const override { return {plan_.memory_bytes, 0}; }
  void start(engine::Outputs&) override {
    sources_ = make_sources(config_, plan_);
    queue_ = device::open({}, {.threads = config_.threads})->make_queue();
  }

  bool produce(engine::Outputs& outputs) override {
    if (made_ == plan_.blocks) return false;
    engine::Block& block = outputs.begin();
    auto& photons = block.payload_of<SimulatedPhotons>();
    photons.sensors.resize(sources_.size());
    queue_->parallel_for(sources_.size(), 1, [&](std::size_t first, std::size_t last, std::size_t) {
      for (std::size_t s = first; s < last; ++s) sources_[s].next(photons.sensors[s]);
    });
    const std::uint64_t ticks = plan_.clock.ticks;
    const auto before = [](const SourcePhoton& photon, std::uint64_t tick) {
      return photon.time < tick;
    };
    for (const auto& some : photons.sensors)
      photons_ += static_cast<std::uint64_t>(
          std::lower_bound(some.begin(), some.end(), ticks, before) - some.begin());
    block.first = made_++ * PhotonSource::kBlockSteps;
    photons.end_tick = made_ * PhotonSource::kBlockSteps * plan_.ticks_per_step;
    block.samples = static_cast<std::size_t>(
        (std::min(photons.end_tick, ticks) - 1) / plan_.ticks_per_step + 1 - block.first);
    outputs.commit();
    return made_ < plan_.blocks;
  }
  /// Photons of all sensors so far.
  std::uint64_t photons() const { return photons_; }

 private:
  const SimulatePhotonsConfig& config_;
  const PhotonPlan& plan_;
  std::vector<PhotonSource> sources_;
  std::unique_ptr<device::Queue> queue_;
  std::uint64_t made_ = 0, photons_ = 0;
};

}  // namespace

void parse_photon_model(const std::string& text, PhotonModel& model) {
  const std::string kind = "diffusion:";
  if (!text.starts_with(kind))
    throw Error(ErrorKind::config, "model", text, "diffusion:n=,tau=,rate=",
                core::did_you_mean(text.substr(0, text.find(':')), {"diffusion"}));
  simulation::DiffusingSpecies species;
  std::size_t at = kind.size();
  while (at < text.size()) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    const std::string pair = text.substr(at, comma - at);
    const std::size_t equals = pair.find('=');
    const std::string key = pair.substr(0, equals);
    const std::vector<std::string> keys{"n", "tau", "rate", "kappa"};
    if (std::ranges::find(keys, key) == keys.end())
      throw Error(ErrorKind::config, "model", key, "n, tau (s), rate (Hz) or kappa",
                  core::did_you_mean(key, keys));
    std::string number = equals == std::string::npos ? "" : pair.substr(equals + 1);
    if (key == "tau") number = core::text::in_seconds(number);
    if (key == "rate") number = core::in_hertz(number);
    double value = 0;
    std::size_t used = 0;
    try {
      value = std::stod(number, &used);
    } catch (const std::exception&) {
      used = 0;
    }
    require(used > 0 && used == number.size(), "model", pair,
            "KEY=NUMBER, tau in s (or with ms, us or ns) and rate in Hz (or with kHz or MHz)");
    if (key == "n")
      species.n = value;
    else if (key == "tau")
      species.tau_s = value;
    else if (key == "rate")
      species.rate_hz = value;
    else
      model.kappa = value;
    at = comma + 1;
  }
  model.species.push_back(species);
}

SimulatePhotonsSummary simulate_photons(const SimulatePhotonsConfig& config,
                                        const SimulatePhotonsProgress& progress,
                                        std::stop_token stop) {
  const auto started = core::Clock::now();
  core::check(config);
  const PhotonPlan plan = make_plan(config);
  SimulatePhotonsSummary summary;
  summary.file = config.output;
  summary.truth_path = truth_path_of(config.output);
  simulation::refuse_existing(summary.truth_path, config.output, config.overwrite);
  simulation::require_room(config.output, output_bytes(config, plan));
  auto source = std::make_unique<PhotonSimulation>(config, plan);
  const PhotonSimulation& made = *source;  // the run's
  const simulation::TruthOutput truth{summary.truth_path, config.overwrite,
                                      [&] { return truth_text(config, plan, made.photons()); }};
  engine::Graph graph;
  const engine::NodeId from = graph.add("photons", std::move(source));
  graph.connect(from,
                graph.add("file", std::make_unique<simulation::OutputNode>(
                                      truth, [&] { return make_photon_writer(config, plan); })),
                {.depth = 1});
  engine::RunOptions options;
  options.progress = [&](std::uint64_t steps, std::uint64_t all) {
    if (progress && all > 0) progress(static_cast<double>(steps) / static_cast<double>(all));
  };
  engine::Run run(std::move(graph), options);
  run.go(std::move(stop));

  summary.photons = made.photons();
  summary.bins = plan.tags ? 0 : plan.clock.bins;
  summary.stream_s = static_cast<double>(plan.clock.ticks) * plan.clock.tick_s;
  summary.memory_bytes = plan.memory_bytes;
  summary.elapsed_s = core::seconds_since(started);
  summary.profile = run.profile();
  return summary;
}

}  // namespace tautline::pipeline

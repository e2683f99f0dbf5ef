// Rate of simulated voltages, in samples of one input a second: the maker alone on one thread, and
// whole runs to a file with all threads (--benchmark_filter=run).
#include <benchmark/benchmark.h>

#include <cmath>
#include <filesystem>

#include "tautline/formats/astronomy.h"
#include "tautline/pipeline/simulate_voltages.h"
#include "tautline/pipeline/simulation/voltages.h"

namespace {

using namespace tautline;

// Antennas on a spiral of 150 m, two feeds each.
formats::ArrayLayout spiral(std::size_t antennas) {
  formats::ArrayLayout array;
  array.latitude_deg = -26.7033;
  array.longitude_deg = 116.6708;
  const formats::Site site = formats::site_of(array);
  const formats::Vector3 centre = formats::ecef_m(site);
  for (std::size_t a = 0; a < antennas; ++a) {
    const double angle = 2.1 * static_cast<double>(a);
    const double radius = 150 * std::sqrt(static_cast<double>(a) / static_cast<double>(antennas));
    const formats::Vector3 offset =
        formats::enu_to_ecef({radius * std::cos(angle), radius * std::sin(angle), 0}, site);
    formats::Antenna antenna;
    antenna.number = static_cast<int>(a);
    for (std::size_t k = 0; k < 3; ++k) antenna.ecef_m[k] = centre[k] + offset[k];
    array.antennas.push_back(antenna);
    for (const char feed : {'x', 'y'}) array.inputs.push_back({a, feed});
  }
  return array;
}

formats::scene::Scene sky(std::size_t sources) {
  formats::scene::Scene scene = formats::scene::parse_scene("", "benchmark");
  for (std::size_t s = 0; s < sources; ++s) {
    formats::scene::Source source;
    source.horizontal = true;
    source.azimuth_deg = 40 + 37 * static_cast<double>(s);
    source.elevation_deg = 60;
    source.flux = 0.1;
    scene.sources.push_back(source);
  }
  return scene;
}

void make(benchmark::State& state) {
  namespace simulation = pipeline::simulation;
  simulation::Sampling sampling;
  sampling.duration_s = 100;
  sampling.real = state.range(1) != 0;
  const auto plan = std::make_shared<simulation::Plan>(
      sky(static_cast<std::size_t>(state.range(0))), spiral(32), sampling);
  const simulation::VoltageMaker maker(plan);
  simulation::Workspace workspace(*plan);
  constexpr std::size_t kSegments = 16;
  std::vector<std::byte> out(kSegments * maker.bytes(maker.segment_samples()));
  std::vector<std::uint64_t> clipped(plan->inputs());
  std::uint64_t first = 0;
  for (auto _ : state) {
    maker.make(first, kSegments, workspace, out.data(), clipped);
    first += kSegments;
  }
  state.counters["input-samples/s"] =
      benchmark::Counter(static_cast<double>(kSegments * maker.segment_samples() * plan->inputs()),
                         benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(make)->ArgNames({"sources", "real"})->ArgsProduct({{0, 1, 2, 10}, {0, 1}});

void run(benchmark::State& state) {
  pipeline::SimulateConfig config;
  config.output =
      (std::filesystem::temp_directory_path() / "tautline_bench_simulate.dada").string();
  config.duration_s = 2;
  config.overwrite = true;
  config.threads = static_cast<std::size_t>(state.range(0));
  const auto array = spiral(32);
  std::uint64_t samples = 0;
  for (auto _ : state) {
    const auto summary = pipeline::simulate_voltages(config, array, sky(2));
    samples += summary.samples * summary.inputs;
  }
  std::filesystem::remove(config.output);
  std::filesystem::remove(pipeline::truth_path(config.output));
  state.counters["input-samples/s"] =
      benchmark::Counter(static_cast<double>(samples), benchmark::Counter::kIsRate);
}
BENCHMARK(run)->ArgName("threads")->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();

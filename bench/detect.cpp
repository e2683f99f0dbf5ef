// Rates of detect on noise with Apertif's sampling time, on every instruction set of this machine,
// compared with plain loops over the same boxcars: a running mean, a sigma from the mean of
// squares, and a running sum for each width, without a list of detections.
#include "bench/baseline/detect.h"

#include <benchmark/benchmark.h>

#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "tautline/core/error.h"
#include "tautline/stages/detect/case.h"

namespace {

using namespace tautline;
using stages::detect::Case;

std::vector<std::int32_t> noise(std::size_t count) {
  std::mt19937_64 random(1);
  std::normal_distribution<float> normal(100000.f, 300.f);
  std::vector<std::int32_t> series(count);
  for (std::int32_t& x : series) x = static_cast<std::int32_t>(normal(random));
  return series;
}

void report(benchmark::State& state, const Case& c) {
  const auto runs = static_cast<double>(state.iterations());
  const double samples = static_cast<double>(c.config.trials * c.samples) * runs;
  state.counters["samples/s"] = benchmark::Counter(samples, benchmark::Counter::kIsRate);
  state.counters["boxcars/s"] =
      benchmark::Counter(c.operations() / 2 * runs, benchmark::Counter::kIsRate);
  // The real-time factor of 2,000 trials.
  state.counters["x_real_time_2000"] =
      benchmark::Counter(samples * c.config.sample_time_s / 2000, benchmark::Counter::kIsRate);
}

void detect(benchmark::State& state, Case c, const std::string& device, std::size_t threads) {
  const auto opened = device::open(device::parse_selection(device), {.threads = threads});
  c.config.max_samples = c.samples;
  const auto plan = stages::detect::make_plan(c.config, opened);
  const auto queue = opened->make_queue();
  const auto search = plan->make_state(*queue);
  const std::vector<std::int32_t> series = noise(c.config.trials * c.samples);
  const core::View<const std::int32_t, 2> view(series.data(), {c.config.trials, c.samples});
  plan->execute(*queue, *search, view);  // what a stream begins with is not what it goes on with
  for (auto _ : state) {
    plan->execute(*queue, *search, view);
    benchmark::DoNotOptimize(search->take());
  }
  state.SetLabel(plan->backend());
  report(state, c);
}

void plain(benchmark::State& state, const Case& c) {
  const std::vector<std::int32_t> series = noise(c.config.trials * c.samples);
  const auto device = device::open(device::parse_selection("cpu"));
  const auto plan = stages::detect::make_plan(c.config, device);
  std::vector<bench::PlainHit> hits;
  for (auto _ : state)
    for (std::size_t t = 0; t < c.config.trials; ++t)
      bench::plain_search(series.data() + t * c.samples, c.samples, plan->baseline_samples(),
                          plan->widths(), c.config.threshold, hits);
  report(state, c);
}

}  // namespace

int main(int argc, char** argv) {
  for (const double widest_s : {0.1, 0.5}) {
    Case c = stages::detect::apertif(64, widest_s);
    c.samples = 65536;
    benchmark::RegisterBenchmark((c.name + " / plain loops / 1 threads").c_str(), plain, c)
        ->UseRealTime();
    for (const char* device : {"cpu:portable", "cpu:avx2", "cpu:avx512"}) {
      try {
        device::parse_selection(device);
      } catch (const core::Error&) {
        continue;
      }
      for (const std::size_t threads : {1u, 2u}) {
        const std::string name =
            c.name + " / " + device + " / " + std::to_string(threads) + " threads";
        benchmark::RegisterBenchmark(name.c_str(), detect, c, device, threads)->UseRealTime();
      }
    }
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}

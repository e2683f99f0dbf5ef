// Rates of the autocorrelator on CPUs, compared with a plain loop in floats.
//
//   bench_autocorrelate --benchmark_filter=array
#include "bench/baseline/autocorrelate.h"

#include <benchmark/benchmark.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "tautline/device/device.h"
#include "tautline/stages/autocorrelate/autocorrelate.h"
#include "tautline/stages/autocorrelate/case.h"
#include "tautline/stages/autocorrelate/cpu/plan.h"

namespace {

using namespace tautline;
using namespace tautline::stages::autocorrelate;

// `most` is the largest count; every value up to it is equally likely.
template <class Count>
std::vector<Count> counts(std::size_t size, unsigned most) {
  std::mt19937 random(1);
  std::vector<Count> data(size);
  for (Count& count : data) count = static_cast<Count>(random() % (most + 1));
  return data;
}

void report(benchmark::State& bench, const Config& config, double samples) {
  using Counter = benchmark::Counter;
  bench.counters["samples"] = Counter(samples, Counter::kIsRate);
  bench.counters["multiply_adds"] =
      Counter(samples * operations_per_sample(config), Counter::kIsRate);
}

template <class Count>
void measure(benchmark::State& bench, Config config, device::Selection selection,
             std::size_t threads, std::size_t packet, unsigned most,
             const Tunables& tunables = {}) {
  if (selection.instruction_set && !device::supported(*selection.instruction_set)) {
    bench.SkipWithError("not on this processor");
    return;
  }
  const auto device = device::open(selection, {.threads = threads});
  const auto queue = device->make_queue();
  config.max_samples = packet;
  const auto plan = cpu::make_plan(config, device, tunables);
  const auto state = plan->make_state(*queue);
  const auto data = counts<Count>(packet * config.sensors, most);
  const core::View<const Count, 2> view(data.data(), {packet, config.sensors});
  for (auto _ : bench) plan->execute(*queue, *state, view);
  bench.SetLabel(plan->backend());
  report(
      bench, config,
      static_cast<double>(packet * config.pair_count()) * static_cast<double>(bench.iterations()));
  bench.counters["bytes_per_sensor"] =
      static_cast<double>(plan->bytes().host_bytes) / static_cast<double>(config.pair_count());
}

void plain_loop(benchmark::State& bench) {
  const std::size_t sensors = kArray.config.sensors, packet = kArray.config.max_samples;
  const auto data = counts<std::uint8_t>(packet * sensors, 255);
  bench::PlainMultiTau plain(sensors, kArray.config.bins, kArray.config.levels);
  for (auto _ : bench) plain.add(data.data(), packet);
  benchmark::DoNotOptimize(plain.sums());
  report(bench, kArray.config,
         static_cast<double>(packet * sensors) * static_cast<double>(bench.iterations()));
}
BENCHMARK(plain_loop)
    ->Name("array/plain loop, floats")
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

device::Selection cpu(device::InstructionSet set) {
  return {device::Api::cpu, set};
}

void register_all() {
  using device::InstructionSet;
  const auto add = [](const std::string& name, auto function) {
    benchmark::RegisterBenchmark(name.c_str(), function)
        ->Unit(benchmark::kMillisecond)
        ->UseRealTime();
  };
  for (const auto set : {InstructionSet::portable, InstructionSet::avx2, InstructionSet::avx512,
                         InstructionSet::vnni})
    for (const std::size_t threads : {1u, 2u})
      for (const unsigned most : {255u, 15u})
        add("array/" + std::string(device::to_string(set)) + "/threads:" + std::to_string(threads) +
                "/counts to " + std::to_string(most),
            [=](benchmark::State& bench) {
              measure<std::uint8_t>(bench, kArray.config, cpu(set), threads, 8192, most);
            });
  for (const std::size_t block : {128u, 256u, 512u, 1024u})
    add("block/" + std::to_string(block), [=](benchmark::State& bench) {
      measure<std::uint8_t>(bench, kArray.config, {}, 1, 8192, 255, {.block_samples = block});
    });
  add("array/u16, counts to 1000", [](benchmark::State& bench) {
    Config config = kArray.config;
    config.type = SampleType::u16;
    measure<std::uint16_t>(bench, config, {}, 1, 8192, 1000);
  });
  add("array/u16, counts to 65535", [](benchmark::State& bench) {
    Config config = kArray.config;
    config.type = SampleType::u16;
    measure<std::uint16_t>(bench, config, {}, 1, 8192, 65535);
  });
  add("array/u32, counts to 1000", [](benchmark::State& bench) {
    Config config = kArray.config;
    config.type = SampleType::u32;
    measure<std::uint32_t>(bench, config, {}, 1, 2048, 1000);
  });
  add("array/f32", [](benchmark::State& bench) {
    Config config = kArray.config;
    config.type = SampleType::f32;
    measure<float>(bench, config, {}, 1, 2048, 1000);
  });
  add("array/short packets of 100", [](benchmark::State& bench) {
    measure<std::uint8_t>(bench, kArray.config, {}, 1, 100, 255);
  });
  add("large array/100,000 sensors", [](benchmark::State& bench) {
    Config config = kArray.config;
    config.sensors = 100'000;
    measure<std::uint8_t>(bench, config, {}, 1, 1024, 255);
  });
  add("detector/1 sensor, 10 M samples", [](benchmark::State& bench) {
    measure<std::uint8_t>(bench, kDetector.config, {}, 1, kDetector.samples, 15);
  });
}

}  // namespace

int main(int argc, char** argv) {
  register_all();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

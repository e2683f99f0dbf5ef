// GB/s (read + written) of the corner turn on every instruction set of this machine, beside memcpy
// of as many bytes and a plain double loop.
#include <benchmark/benchmark.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "tautline/core/error.h"
#include "tautline/stages/corner_turn/case.h"

namespace {

using namespace tautline;
using stages::corner_turn::Case;

void report(benchmark::State& state, double bytes, std::size_t elements) {
  const auto runs = static_cast<double>(state.iterations());
  state.counters["GB/s"] = benchmark::Counter(bytes * 1e-9 * runs, benchmark::Counter::kIsRate);
  state.counters["Gsamples/s"] =
      benchmark::Counter(static_cast<double>(elements) * 1e-9 * runs, benchmark::Counter::kIsRate);
}

void corner_turn(benchmark::State& state, const Case& c, const std::string& device,
                 std::size_t threads) {
  const auto opened = device::open(device::parse_selection(device), {.threads = threads});
  const auto plan = stages::corner_turn::make_plan(c.config(), opened);
  const auto queue = opened->make_queue();
  std::mt19937_64 random(1);
  const auto spectra = stages::corner_turn::make_spectra(c, random, false);
  const auto gains = stages::corner_turn::make_gains(c, random);
  std::vector<std::uint64_t> clipped(c.inputs);
  const device::Buffer out(c.elements() * 8);
  const stages::corner_turn::Spectra in(spectra.data(), {c.inputs, c.spectra, c.channels});
  const stages::corner_turn::Gains gain(gains.data(), {c.channels, c.inputs});
  const stages::corner_turn::Clipped count(clipped.data(), {c.inputs});
  const core::MutableSampleView<3> rows(out.data(), c.output_type(),
                                        {c.channels, c.inputs, c.spectra});
  for (auto _ : state) plan->execute(*queue, in, {}, gain, rows, count);
  state.SetLabel(plan->backend());
  report(state, c.bytes(), c.elements());
}

void copy(benchmark::State& state) {
  const auto bytes = static_cast<std::size_t>(state.range(0));
  const device::Buffer in(bytes), out(bytes);
  for (auto _ : state) {
    std::memcpy(out.data(), in.data(), bytes);
    benchmark::ClobberMemory();
  }
  report(state, 2.0 * static_cast<double>(bytes), bytes / 8);
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::RegisterBenchmark("memcpy", copy)->Arg(64 << 20)->UseRealTime();
  for (const Case& c : stages::corner_turn::instrument_cases()) {
    std::vector<std::string> devices{"reference", "cpu:portable", "cpu:avx2", "cpu:avx512"};
    for (const std::string& device : devices) {
      try {
        device::parse_selection(device);
      } catch (const core::Error&) {
        continue;
      }
      for (const std::size_t threads : {1u, 2u}) {
        if (device == "reference" && threads > 1) continue;
        const std::string name =
            c.name + " / " + device + " / " + std::to_string(threads) + " threads";
        benchmark::RegisterBenchmark(name.c_str(), corner_turn, c, device, threads)->UseRealTime();
      }
    }
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}

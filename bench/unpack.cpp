// GB/s (read + written) of unpack for the layouts of instruments, on every instruction set of this
// machine, beside memcpy of as many bytes on one thread.
#include <benchmark/benchmark.h>

#include <array>
#include <cstring>
#include <random>
#include <string>

#include "tautline/core/error.h"
#include "tautline/stages/unpack/case.h"

namespace {

using namespace tautline;
using stages::unpack::Case;

void report(benchmark::State& state, double bytes) {
  state.counters["GB/s"] = benchmark::Counter(
      bytes * 1e-9 * static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}

void unpack(benchmark::State& state, const Case& c, const std::string& device,
            std::size_t threads) {
  const auto opened = device::open(device::parse_selection(device), {.threads = threads});
  const auto plan = stages::unpack::make_plan(c.config(), opened);
  const auto queue = opened->make_queue();
  std::mt19937_64 random(1);
  const core::RawBlock block = stages::unpack::make_block(c, random, false);
  const core::SampleType type = stages::unpack::unpacked_type(c.format);
  const std::array<std::size_t, 3> extents{c.channels, c.antennas * c.polarisations, c.samples};
  const device::Buffer out(extents[0] * extents[1] * extents[2] * core::bytes_of(type));
  core::ValidityMask valid(extents[1], c.samples);
  const auto buffers = plan->make_state(*queue);
  for (auto _ : state)
    plan->execute(*queue, *buffers, block, {out.data(), type, extents}, valid.mutable_view());
  state.SetLabel(plan->backend());
  report(state, c.bytes());
}

void copy(benchmark::State& state) {
  const auto bytes = static_cast<std::size_t>(state.range(0));
  const device::Buffer in(bytes), out(bytes);
  for (auto _ : state) {
    std::memcpy(out.data(), in.data(), bytes);
    benchmark::ClobberMemory();
  }
  report(state, 2.0 * static_cast<double>(bytes));
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::RegisterBenchmark("memcpy", copy)->Arg(2 << 20)->Arg(8 << 20)->UseRealTime();
  for (const Case& c : stages::unpack::instrument_cases())
    for (const char* device : {"cpu:portable", "cpu:avx2", "cpu:avx512"}) {
      try {
        device::parse_selection(device);
      } catch (const core::Error&) {
        continue;
      }
      for (const std::size_t threads : {1u, 2u}) {
        const std::string name =
            c.name + " / " + device + " / " + std::to_string(threads) + " threads";
        benchmark::RegisterBenchmark(name.c_str(), unpack, c, device, threads)->UseRealTime();
      }
    }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}

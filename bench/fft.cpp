// Rate of the host's FFT library per transform length, the floor under every channelizer.
#include "tautline/device/cpu/fft.h"

#include <benchmark/benchmark.h>

#include <complex>

namespace {

void fft(benchmark::State& state) {
  const auto length = static_cast<std::size_t>(state.range(0));
  const std::size_t batch = 16;
  const auto plan = tautline::device::cpu::make_fft(length, batch);
  const tautline::device::Buffer buffer(length * batch * sizeof(std::complex<float>));
  for (auto _ : state) plan->execute(buffer.as<std::complex<float>>());
  state.SetLabel(std::string(plan->library()));
  state.counters["samples/s"] = benchmark::Counter(static_cast<double>(length * batch),
                                                   benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(fft)->RangeMultiplier(4)->Range(16, 65536);

}  // namespace

BENCHMARK_MAIN();

// An X-engine on memory of your own, held to the reference.
#include <cstdio>
#include <random>
#include <vector>

#include "tautline/stages/correlate/correlate.h"

using namespace tautline;
using namespace tautline::stages;

int main() {
  const std::size_t channels = 4, inputs = 33, times = 1000;
  const std::size_t baselines = core::baseline_count(inputs);
  std::vector<core::ci8> voltages(channels * inputs * times);
  std::mt19937 random(std::random_device{}());
  for (core::ci8& x : voltages)
    x = {static_cast<std::int8_t>(random()), static_cast<std::int8_t>(random())};
  const correlate::Samples<core::ci8> samples(voltages.data(), {channels, inputs, times});

  std::vector<core::ci64> sums[2];
  for (const char* name : {"auto", "reference"}) {
    const auto device = device::open(device::parse_selection(name));
    const auto plan = correlate::make_plan(
        {.channels = channels, .inputs = inputs, .max_samples = times}, device);
    std::printf("%s: %zu bytes of state\n", plan->backend().c_str(), plan->bytes().host_bytes);
    const auto queue = device->make_queue();
    const auto state = plan->make_state(*queue);
    auto& sum = sums[device->api() == device::Api::reference];
    sum.resize(channels * baselines);
    std::vector<std::int64_t> counts(channels * baselines);
    plan->execute(*queue, *state, samples, {}, {sum.data(), {channels, baselines}},
                  {counts.data(), {channels, baselines}});
  }
  std::size_t differences = 0;
  for (std::size_t k = 0; k < sums[0].size(); ++k) differences += !(sums[0][k] == sums[1][k]);
  std::printf("%zu differences from the reference\n", differences);
  return differences == 0 ? 0 : 1;
}

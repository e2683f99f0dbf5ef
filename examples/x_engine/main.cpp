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

  std::vector<core::ci64> sums[2];
  for (const char* name : {"auto", "reference"}) {
    const auto device = device::parse_selection(name);
    auto& sum = sums[device.api == device::Api::reference];
    sum.resize(channels * baselines);
    std::vector<std::int64_t> counts(channels * baselines);
    correlate::correlate({voltages.data(), {channels, inputs, times}}, {},
                         {sum.data(), {channels, baselines}},
                         {counts.data(), {channels, baselines}}, device);
  }
  std::size_t differences = 0;
  for (std::size_t k = 0; k < sums[0].size(); ++k) differences += !(sums[0][k] == sums[1][k]);
  std::printf("%zu differences from the reference\n", differences);
  return differences == 0 ? 0 : 1;
}

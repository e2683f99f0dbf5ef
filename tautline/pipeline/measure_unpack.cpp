#include "tautline/pipeline/measure_unpack.h"

#include <array>
#include <random>

#include "tautline/pipeline/measure_runner.h"
#include "tautline/stages/unpack/case.h"

namespace tautline::pipeline {
using device::Buffer;

Measurement measure_unpack(const Problem& p, const std::shared_ptr<const device::Device>& device,
                           const Limits& limits, double budget_s) {
  stages::unpack::Case problem{.name = "", .format = complex_format("unpack", p.at("bits"))};
  problem.channels = p.at("channels");
  problem.antennas = p.at("inputs");
  problem.samples = p.at("samples");
  const auto plan = stages::unpack::make_plan(problem.config(), device);
  Runner runner(device, budget_s);
  const auto state = plan->make_state(runner.queue());
  std::mt19937_64 random(1);
  const core::RawBlock block = stages::unpack::make_block(problem, random, false);
  const core::SampleType type = stages::unpack::unpacked_type(problem.format);
  const std::array<std::size_t, 3> extents{problem.channels, problem.antennas, problem.samples};
  const Buffer samples = runner.zeros(extents[0] * extents[1] * extents[2] * core::bytes_of(type));
  const std::size_t words = core::validity_words(problem.samples);
  const Buffer validity(problem.antennas * words * sizeof(std::uint64_t));
  Measurement m;
  runner.time(m, [&] {
    plan->execute(runner.queue(), *state, block, {samples.data(), type, extents},
                  {validity.as<std::uint64_t>(), {problem.antennas, words}});
  });
  m.instruction_set = plan->backend();
  m.bytes = problem.bytes();
  const auto count = static_cast<double>(problem.channels * problem.antennas * problem.samples);
  m.rate = count / m.seconds;
  m.unit = "samples/s";
  m.bandwidth_hz = static_cast<double>(problem.channels * problem.samples) / m.seconds;
  const double transfer_s =
      device->compiles() ? static_cast<double>(problem.block_bytes()) / limits.to_device_bytes_per_s
                         : 0;
  relate_to_limits(m, 0, m.bytes / limits.copy_bytes_per_s, transfer_s);
  return m;
}

}  // namespace tautline::pipeline

#include "tautline/pipeline/measure_corner_turn.h"

#include <complex>

#include "tautline/pipeline/measure_runner.h"
#include "tautline/stages/corner_turn/case.h"

namespace tautline::pipeline {
using device::Buffer;

Measurement measure_corner_turn(const Problem& p,
                                const std::shared_ptr<const device::Device>& device,
                                const Limits& limits, double budget_s) {
  const std::size_t inputs = p.at("inputs"), channels = p.at("channels"), spectra = p.at("spectra"),
                    bits = p.at("output_bits");
  const stages::corner_turn::Case problem{"", inputs, channels, spectra, static_cast<int>(bits)};
  const auto plan = stages::corner_turn::make_plan(problem.config(), device);
  require_on_device("corner_turn", plan->backend(), *device);
  Runner runner(device, budget_s);
  const Buffer in = runner.random_floats(problem.elements() * sizeof(std::complex<float>));
  const Buffer out = runner.zeros(problem.elements() * 2 * bits / 8);
  const Buffer gains = runner.floats(channels * inputs, 20.0f);
  const Buffer clipped = runner.zeros(inputs * sizeof(std::uint64_t));
  const stages::corner_turn::Spectra spectra_view{in.as<std::complex<float>>(),
                                                  {inputs, spectra, channels}};
  const stages::corner_turn::Gains gains_view{gains.as<float>(), {channels, inputs}};
  const stages::corner_turn::Clipped clipped_view{clipped.as<std::uint64_t>(), {inputs}};
  const core::MutableSampleView<3> samples(out.data(), problem.output_type(),
                                           {channels, inputs, spectra});
  Measurement m;
  runner.time(m, [&] {
    plan->execute(runner.queue(), spectra_view, {}, gains_view, samples, clipped_view);
  });
  m.instruction_set = plan->backend();
  m.operations = problem.operations();
  m.bytes = problem.bytes();
  m.rate = static_cast<double>(problem.elements()) / m.seconds;
  m.unit = "samples/s";
  m.bandwidth_hz = static_cast<double>(channels * spectra) / m.seconds;
  relate_to_limits(m, m.operations / limits.float_operations_per_s,
                   m.bytes / limits.copy_bytes_per_s);
  return m;
}

}  // namespace tautline::pipeline

#include "tautline/pipeline/measure_correlate.h"

#include <algorithm>
#include <array>
#include <complex>
#include <string>

#include "tautline/core/error.h"
#include "tautline/pipeline/measure_runner.h"
#include "tautline/stages/correlate/case.h"
#include "tautline/stages/correlate/correlate.h"
#include "tautline/stages/correlate/gpu/plan.h"
#include "tautline/stages/correlate/tune.h"

namespace tautline::pipeline {

namespace {

using core::Error;
using core::ErrorKind;
using device::Buffer;
using DevicePointer = std::shared_ptr<const device::Device>;

stages::correlate::Config correlate_config(const Problem& p) {
  return {.channels = p.at("channels"),
          .inputs = p.at("inputs"),
          .max_samples = p.at("samples"),
          .format = complex_format("correlate", p.at("bits"), p.at("half"))};
}

// The plan that runs by itself, or on GPUs one of a design that was asked for, with its defaults.
std::shared_ptr<const stages::correlate::Plan> correlate_plan(
    const stages::correlate::Config& config, std::size_t design, const DevicePointer& device) {
  using stages::correlate::GpuDesign;
  if (design == 0) return stages::correlate::make_plan(config, device);
  if (!device->compiles() || design > static_cast<std::size_t>(GpuDesign::wgmma))
    throw Error(ErrorKind::config, "`problem` of correlate: design", std::to_string(design),
                "1 (tiled), 2 (mma) or 3 (wgmma), on a GPU");
  stages::correlate::GpuTunables tunables;
  tunables.design = static_cast<GpuDesign>(design);
  return stages::correlate::gpu::make_gpu_plan(config, device, tunables);
}

template <class Sample, class Visibility>
void time_correlate(Runner& runner, Measurement& m, const stages::correlate::Plan& plan,
                    std::size_t blocks) {
  const auto& config = plan.config();
  const std::size_t baselines = core::baseline_count(config.inputs);
  const std::array<std::size_t, 2> shape{config.channels, baselines};
  const Buffer voltages =
      runner.random_samples(config.format, config.channels * config.inputs * config.max_samples);
  const Buffer sums = runner.zeros(config.channels * baselines * sizeof(Visibility));
  const Buffer counts = runner.zeros(config.channels * baselines * sizeof(std::int64_t));
  const auto state = plan.make_state(runner.queue());
  const core::View<Visibility, 2> visibilities(sums.as<Visibility>(), shape);
  const stages::correlate::Counts numbers(counts.as<std::int64_t>(), shape);
  runner.time(m, [&] {
    state->begin();
    for (std::size_t block = 0; block < blocks; ++block)
      plan.execute(runner.queue(), *state,
                   stages::correlate::Samples<Sample>(
                       voltages.as<Sample>(), {config.channels, config.inputs, config.max_samples}),
                   {}, visibilities, numbers);
    plan.flush(runner.queue(), *state, visibilities, numbers);
  });
}

}  // namespace

Measurement measure_correlate(const Problem& p, const DevicePointer& device, const Limits& limits,
                              double budget_s) {
  stages::correlate::Config config = correlate_config(p);
  config.defer_sums = p.at("blocks") > 1;
  const std::size_t samples = config.max_samples;
  const auto plan = correlate_plan(config, p.at("design"), device);
  Runner runner(device, budget_s);
  Measurement m;
  const std::size_t blocks = p.at("blocks");
  if (config.format == core::kCi4) time_correlate<core::ci4, core::ci64>(runner, m, *plan, blocks);
  if (config.format == core::kCi8) time_correlate<core::ci8, core::ci64>(runner, m, *plan, blocks);
  if (config.format == core::kCi16)
    time_correlate<core::ci16, std::complex<double>>(runner, m, *plan, blocks);
  if (config.format == core::kCf16)
    time_correlate<core::cf16, std::complex<double>>(runner, m, *plan, blocks);
  if (config.format == core::kCf32)
    time_correlate<std::complex<float>, std::complex<double>>(runner, m, *plan, blocks);
  const stages::correlate::Case problem{"", config, samples};
  m.instruction_set = plan->backend();
  m.operations = problem.operations() * static_cast<double>(blocks);
  m.bytes = problem.bytes(blocks);
  m.rate = m.operations / m.seconds;
  m.unit = "useful operations/s";
  m.bandwidth_hz = static_cast<double>(config.channels * samples * blocks) / m.seconds;
  const bool exact = config.format == core::kCi4 || config.format == core::kCi8;
  const bool matrix_halves =
      config.format == core::kCf16 && plan->backend().find("mma ") != std::string::npos;
  const double arithmetic = matrix_halves ? limits.half_matrix_operations_per_s
                            : exact
                                ? std::max(limits.int8_operations_per_s /
                                               stages::correlate::products_made(plan->backend()),
                                           limits.int8_matrix_operations_per_s)
                                : limits.float_operations_per_s;
  relate_to_limits(m, m.operations / arithmetic, m.bytes / limits.copy_bytes_per_s);
  return m;
}

jit::Tunable tune_correlate(const Problem& p, const std::shared_ptr<const device::Device>& device) {
  stages::correlate::Config config = correlate_config(p);
  config.defer_sums = p.at("held") != 0;
  return stages::correlate::make_tunable(config, device);
}

}  // namespace tautline::pipeline

#include <algorithm>
#include <string>

#include "tautline/core/error.h"
#include "tautline/pipeline/bench/stage_run.h"
#include "tautline/stages/correlate/case.h"
#include "tautline/stages/correlate/case_run.h"
#include "tautline/stages/correlate/gpu/plan.h"
#include "tautline/stages/correlate/tune.h"

namespace tautline::pipeline {

namespace {

using core::Error;
using core::ErrorKind;
namespace correlate = stages::correlate;

correlate::Config correlate_config(const Problem& p) {
  return {.channels = p.at("channels"),
          .inputs = p.at("inputs"),
          .max_samples = p.at("samples"),
          .format = complex_format("correlate", p.at("bits"), p.at("half"))};
}

// The default plan, or on GPUs a plan of the design that was asked for, with its defaults.
std::shared_ptr<const correlate::Plan> correlate_plan(const correlate::Config& config,
                                                      std::size_t design,
                                                      const DevicePointer& device) {
  using correlate::GpuDesign;
  if (design == 0) return correlate::make_plan(config, device);
  if (!device->compiles() || design > static_cast<std::size_t>(GpuDesign::wgmma))
    throw Error(ErrorKind::config, "`problem` of correlate: design", std::to_string(design),
                "1 (tiled), 2 (mma) or 3 (wgmma), on a GPU");
  correlate::GpuTunables tunables;
  tunables.design = static_cast<GpuDesign>(design);
  return correlate::gpu::make_gpu_plan(config, device, tunables);
}

}  // namespace

// An integration.
StageRun set_up_correlate(const Problem& p, const DevicePointer& device) {
  correlate::Config config = correlate_config(p);
  const std::size_t blocks = p.at("blocks");
  config.defer_sums = blocks > 1;
  const auto plan = correlate_plan(config, p.at("design"), device);
  const auto calls = std::make_shared<correlate::CaseRun>(config, device);
  calls->use(plan);
  const correlate::Case problem{config, config.max_samples};
  const double operations = problem.operations() * static_cast<double>(blocks);
  return {.memory = calls,
          .run =
              [calls, blocks] {
                calls->state().begin();
                calls->run(blocks);
              },
          .code = plan->backend(),
          .operations = operations,
          .bytes = problem.bytes(blocks),
          .count = operations,
          .unit = "useful operations/s",
          .input_samples = static_cast<double>(config.channels * config.max_samples * blocks),
          .arithmetic =
              [format = config.format, code = plan->backend()](const Limits& limits) {
                if (format == core::kCi4 || format == core::kCi8)
                  return std::max(limits.int8_operations_per_s / correlate::products_made(code),
                                  limits.int8_matrix_operations_per_s);
                return format == core::kCf16 && code.find("mma ") != std::string::npos
                           ? limits.half_matrix_operations_per_s
                           : limits.float_operations_per_s;
              }};
}

jit::Tunable tune_correlate(const Problem& p, const DevicePointer& device) {
  correlate::Config config = correlate_config(p);
  config.defer_sums = p.at("deferred") != 0;
  return correlate::make_tunable(config, device);
}

}  // namespace tautline::pipeline

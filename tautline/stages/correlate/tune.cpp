#include "tautline/stages/correlate/tune.h"

#include "tautline/stages/correlate/backends.h"
#include "tautline/stages/correlate/case.h"
#include "tautline/stages/correlate/case_run.h"
#include "tautline/stages/correlate/gpu/plan.h"
#include "tautline/stages/correlate/gpu/tuning.h"

namespace tautline::stages::correlate {

namespace {

// Of the random samples of a CaseRun. The sums of both the CPU and the GPU are rounded.
double tuning_tolerance(const Config& config) {
  const bool halves = config.format == core::kCf16;
  const double power = config.format.is_float() ? 2 : 2 * 65536.0 * 65536.0 / 12;
  return (kFloatTolerance + (halves ? kHalfTolerance : kFloatTolerance)) *
         static_cast<double>(config.max_samples) * power;
}

}  // namespace

jit::Tunable make_tunable(const Config& config, std::shared_ptr<const device::Device> device) {
  check_config(config);
  jit::require_tunable("correlate", device.get());
  const bool exact = config.format == core::kCi4 || config.format == core::kCi8;
  return jit::with_candidates<CaseRun>(
      {gpu::tuning_key(config, *device),
       gpu::tuning_space(config, *device),
       useful_operations(config, config.max_samples),
       "useful operations/s",
       {},
       {}},
      {device, [config](auto on) { return std::make_unique<CaseRun>(config, on); },
       [config](auto host) { return make_plan(config, host); },
       [config, device](const jit::Configuration& c) {
         return gpu::make_gpu_plan(config, device, gpu::tunables_of(c));
       },
       [config, exact](jit::Bytes found, jit::Bytes expected) {
         return exact ? jit::describe_difference_as<std::int64_t>(found, expected)
                      : jit::describe_difference_as<double>(found, expected,
                                                            tuning_tolerance(config));
       }});
}

}  // namespace tautline::stages::correlate

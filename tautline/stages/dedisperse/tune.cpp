#include "tautline/stages/dedisperse/tune.h"

#include "tautline/stages/dedisperse/backends.h"
#include "tautline/stages/dedisperse/case.h"
#include "tautline/stages/dedisperse/case_run.h"
#include "tautline/stages/dedisperse/gpu/tuning.h"

namespace tautline::stages::dedisperse {

jit::Tunable make_tunable(const Config& config, std::shared_ptr<const device::Device> device) {
  jit::require_tunable("dedisperse", device.get());
  // Sub-bands change the sums, which could not be compared: what is tuned are exact and shared
  // ones, whichever of them a plan without a loss comes to.
  Config exact = config;
  exact.subband_loss = 0;
  if (exact.method == Method::subband) exact.method = Method::automatic;
  const auto problem = std::make_shared<const DelayPlan>(exact);
  const Method runs = method_that_runs(*problem, *device);
  const double adds = static_cast<double>(exact.beams) * static_cast<double>(problem->trials()) *
                      static_cast<double>(problem->positions()) *
                      static_cast<double>(exact.max_samples);
  return jit::with_candidates<CaseRun>(
      {tuning_key(*problem, *device, runs),
       tuning_space(*device, exact.method),
       adds,
       "adds/s",
       {},
       {}},
      {device, [exact](auto on) { return std::make_unique<CaseRun>(exact, on); },
       [host_config = exact](auto host) mutable {
         host_config.method = Method::shared;  // exact, and the fastest way to it
         return make_plan(host_config, host);
       },
       [problem, runs, device](const jit::Configuration& c) {
         Tunables all;
         all.gpu = tunables_of(c);
         return make_gpu_plan(problem_of_candidate(problem, runs, all.gpu), device, all);
       },
       [problem](jit::Bytes found, jit::Bytes expected) {
         if (!problem->float_sums())
           return jit::describe_difference_as<std::int32_t>(found, expected);
         return jit::describe_difference_as<float>(
             found, expected,
             2 * Case::kFloatTolerance * static_cast<double>(problem->positions()));
       }});
}

}  // namespace tautline::stages::dedisperse

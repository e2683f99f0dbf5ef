#include "tautline/stages/dedisperse/gpu/tuning.h"

#include <algorithm>
#include <string>

#include "tautline/jit/tunable_fields.h"
#include "tautline/jit/wisdom.h"
#include "tautline/stages/dedisperse/backends.h"
#include "tautline/stages/dedisperse/gpu/dispatch.h"

namespace tautline::stages::dedisperse {

namespace {

jit::TunableFields<GpuTunables> fields() {
  jit::TunableFields<GpuTunables> list;
  list.add("items_time", &GpuTunables::items_time, {16, 32, 64, 128, 256},
           "threads along time: wide reads and writes")
      .add("items_dm", &GpuTunables::items_dm, {1, 2, 4, 8, 16},
           "threads along trials: they share the rows that a group reads")
      .add("elements_time", &GpuTunables::elements_time, {1, 2, 4, 8},
           "of a thread along time: one delay serves them all")
      .add("elements_dm", &GpuTunables::elements_dm, {1, 2, 4, 8, 16},
           "of a thread along trials: more work in flight, more registers")
      .add("local_kib", &GpuTunables::local_kib, {0, 16, 32, 48, 64, 100, 256},
           "of shared memory (OpenCL: local memory) for rows and partial sums; 0: rows are read "
           "from "
           "device memory")
      .add("groups", &GpuTunables::groups, {1, 2, 3},
           "whose registers a multiprocessor has room for")
      .add("levels", &GpuTunables::levels, {0, 2, 3, 4, 5},
           "trials add groups of 2^levels channels; 0: by counting");
  return list;
}

}  // namespace

Method method_that_runs(const DelayPlan& problem, const device::Device& device) {
  if (problem.config().method == Method::exact) return Method::exact;
  return choose_sum_kernel(problem, device, {}).choice.method;
}

std::shared_ptr<const DelayPlan> problem_of_candidate(std::shared_ptr<const DelayPlan> problem,
                                                      Method runs, const GpuTunables& tunables) {
  const Method method = runs == Method::exact && tunables.levels > 0 ? Method::shared : runs;
  if (problem->config().method == method) return problem;
  Config config = problem->config();
  config.method = method;
  return std::make_shared<const DelayPlan>(config);
}

jit::TuningKey tuning_key(const DelayPlan& problem, const device::Device& device, Method runs) {
  const Config& config = problem.config();
  return jit::tuning_key(device, "dedisperse",
                         std::to_string(config.bits) + " bits " + to_string(runs),
                         {{"beams", config.beams},
                          {"channels", problem.positions()},
                          {"trials", problem.trials()},
                          {"samples", config.max_samples},
                          {"max_delay", problem.max_delay() + 1}});
}

jit::Space tuning_space(const device::Device& device, Method method) {
  const std::size_t most = device.properties().max_group_threads;
  const std::size_t local_kib = device.properties().local_bytes >> 10;
  return fields().space({}, [most, local_kib, method](const GpuTunables& t) {
    const std::size_t threads = t.items_time * t.items_dm;
    const std::size_t sums = t.elements_time * t.elements_dm;
    // What is like another value, and what needs more registers than there are.
    if (t.local_kib > std::max<std::size_t>(16, local_kib) &&
        t.local_kib != GpuTunables{}.local_kib)
      return false;
    if ((method == Method::exact || t.local_kib == 0) && t.levels != 0) return false;
    if (t.local_kib == 0 && t.groups != 1) return false;
    return threads <= most && threads <= 1024 && sums <= 64 && t.groups * threads <= 1536;
  });
}

GpuTunables tunables_of(const jit::Configuration& configuration) {
  return fields().tunables(configuration);
}

std::shared_ptr<const Plan> make_tuned_gpu_plan(std::shared_ptr<const DelayPlan> problem,
                                                std::shared_ptr<const device::Device> device) {
  const Method asked = problem->config().method;
  // Says which method `auto` comes to, and is the plan of those who have not tuned.
  const auto by_default = make_gpu_plan(problem, device, {});
  const Method runs = by_default->choice().method;
  return jit::make_tuned(*device, tuning_key(*problem, *device, runs), tuning_space(*device, asked),
                         [&](const jit::Configuration& found, const std::string&) {
                           if (found.empty()) return by_default;
                           Tunables tunables;
                           tunables.gpu = tunables_of(found);
                           return make_gpu_plan(problem_of_candidate(problem, runs, tunables.gpu),
                                                device, tunables);
                         });
}

}  // namespace tautline::stages::dedisperse

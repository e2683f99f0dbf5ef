#include "tautline/stages/dedisperse/gpu_tuning.h"

#include <string>
#include <utility>

#include "tautline/core/error.h"
#include "tautline/jit/tunable_fields.h"
#include "tautline/jit/wisdom.h"
#include "tautline/stages/dedisperse/backends.h"

namespace tautline::stages::dedisperse {

namespace {

jit::TunableFields<GpuTunables> fields() {
  jit::TunableFields<GpuTunables> list;
  list.add("items_time", &GpuTunables::items_time, {16, 32, 64, 128, 256},
           "threads along time: wide reads and writes")
      .add("items_dm", &GpuTunables::items_dm, {1, 2, 4, 8, 16},
           "threads along trials: they share the rows that a group reads")
      .add("elements_time", &GpuTunables::elements_time, {1, 2, 4},
           "of a thread along time: one delay serves them all")
      .add("elements_dm", &GpuTunables::elements_dm, {1, 2, 4, 8, 16},
           "of a thread along trials: more work in flight, more registers")
      .add("channels", &GpuTunables::channels, {0, 1, 2, 4, 8, 16, 32},
           "staged in local memory together; 0: read where they lie");
  return list;
}

}  // namespace

jit::TuningKey tuning_key(const Problem& problem, const device::Device& device) {
  const Config& config = problem.config();
  return jit::tuning_key(device, "dedisperse", std::to_string(config.bits) + " bits",
                         {{"beams", config.beams},
                          {"channels", problem.positions()},
                          {"trials", problem.trials()},
                          {"samples", config.max_samples},
                          {"max_delay", problem.max_delay() + 1}},
                         {"dedisperse/sum.kernel"});
}

jit::Space tuning_space(const device::Device& device) {
  const std::size_t most = device.properties().max_group_threads;
  return fields().space({}, [most](const GpuTunables& t) {
    return t.items_time * t.items_dm <= most && t.items_time * t.items_dm <= 1024;
  });
}

GpuTunables tunables_of(const jit::Configuration& configuration) {
  return fields().tunables(configuration);
}

std::shared_ptr<const Plan> make_tuned_gpu_plan(std::shared_ptr<const Problem> problem,
                                                std::shared_ptr<const device::Device> device) {
  const jit::Choice choice =
      jit::choose(*device, tuning_key(*problem, *device), tuning_space(*device));
  if (choice.source == jit::Choice::Source::usual)
    return make_gpu_plan(std::move(problem), std::move(device), {});
  try {
    Tunables tunables;
    tunables.gpu = tunables_of(choice.configuration);
    return make_gpu_plan(problem, device, tunables);
  } catch (const core::Error& error) {
    device->shared().warn_once("what tuning found for dedisperse does not work here any more (" +
                               std::string(error.what()) + "): taking the default");
    return make_gpu_plan(std::move(problem), std::move(device), {});
  }
}

}  // namespace tautline::stages::dedisperse

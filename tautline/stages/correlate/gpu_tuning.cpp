#include "tautline/stages/correlate/gpu_tuning.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "tautline/core/error.h"
#include "tautline/jit/tunable_fields.h"
#include "tautline/jit/wisdom.h"
#include "tautline/stages/correlate/gpu.h"
#include "tautline/stages/correlate/gpu_tiled.h"

namespace tautline::stages::correlate::gpu {

namespace {

using Values = std::vector<std::int64_t>;

constexpr auto kTiled = static_cast<std::int64_t>(GpuDesign::tiled);

jit::TunableFields<GpuTunables> fields(bool exact_sums, bool cuda) {
  jit::TunableFields<GpuTunables> list;
  list.add("design", &GpuTunables::design, {kTiled},
           "which code multiplies: 1 tiled, 2 mma, 3 wgmma")
      .add(
          "register_rows", [](auto& t) -> auto& { return t.tiled.register_rows; }, {1, 2, 4, 8},
          "sums of one thread: more reuse of operands in registers, fewer threads, more waste at "
          "the diagonal")
      .add(
          "register_columns", [](auto& t) -> auto& { return t.tiled.register_columns; },
          {1, 2, 4, 8}, "the same in the other direction")
      .add(
          "thread_rows", [](auto& t) -> auto& { return t.tiled.thread_rows; }, {8, 16},
          "threads of a group: more reuse in local memory, larger tiles")
      .add(
          "thread_columns", [](auto& t) -> auto& { return t.tiled.thread_columns; }, {8, 16},
          "the same in the other direction")
      .add(
          "stage_bytes", [](auto& t) -> auto& { return t.tiled.stage_bytes; }, {32, 64, 128, 256},
          "of every input brought to local memory at a time: fewer barriers, fewer groups at once")
      .add(
          "local_buffers", [](auto& t) -> auto& { return t.tiled.local_buffers; }, {0, 1, 2},
          "0 reads through the cache, 2 fill one while the other is multiplied")
      .add(
          "vector_bytes", [](auto& t) -> auto& { return t.tiled.vector_bytes; }, {4, 8, 16},
          "of one load: fewer instructions, stricter alignment")
      .add(
          "groups_per_multiprocessor",
          [](auto& t) -> auto& { return t.tiled.groups_per_multiprocessor; },
          cuda ? Values{1, 2, 3, 4} : Values{1},
          "fewer registers a thread, more threads to hide latency with")
      .add(
          "emulate_dot4", [](auto& t) -> auto& { return t.tiled.emulate_dot4; },
          exact_sums ? Values{0, 1} : Values{0},
          "four products instead of the dot-product instruction");
  return list;
}

bool fits(const GpuTunables& tunables, const Config& config, const TiledTarget& target) {
  try {
    complete(tunables.tiled, config, target);
    return true;
  } catch (const core::Error&) {
    return false;
  }
}

}  // namespace

jit::TuningKey tuning_key(const Config& config, const device::Device& device) {
  return jit::tuning_key(
      device, "correlate", core::to_string(config.format),
      {{"inputs", config.inputs}, {"channels", config.channels}, {"samples", config.max_samples}},
      {tiled_kernel_file(config)});
}

jit::Space tuning_space(const Config& config, const device::Device& device) {
  const TiledTarget target(device);
  GpuTunables usual;
  usual.design = GpuDesign::tiled;
  usual.tiled = complete({}, config, target);
  return fields(exact(config), device.api() == device::Api::cuda)
      .space(usual, [config, target](const GpuTunables& t) { return fits(t, config, target); });
}

GpuTunables tunables_of(const jit::Configuration& configuration) {
  return fields(true, true).tunables(configuration);
}

std::shared_ptr<const Plan> make_tuned_plan(const Config& config,
                                            std::shared_ptr<const device::Device> device) {
  const jit::Choice choice =
      jit::choose(*device, tuning_key(config, *device), tuning_space(config, *device));
  if (choice.source == jit::Choice::Source::usual)
    return make_gpu_plan(config, device, {}, choice.note);
  try {
    return make_gpu_plan(config, device, tunables_of(choice.configuration), choice.note);
  } catch (const core::Error& error) {
    device->shared().warn_once("what tuning found for correlate does not work here any more (" +
                               std::string(error.what()) + "): taking the default");
    return make_gpu_plan(config, std::move(device), {}, "default");
  }
}

}  // namespace tautline::stages::correlate::gpu

#include "tautline/stages/correlate/gpu/tuning.h"

#include <cstdint>
#include <vector>

#include "tautline/core/error.h"
#include "tautline/jit/tunable_fields.h"
#include "tautline/jit/wisdom.h"
#include "tautline/stages/correlate/gpu/hopper/deferred_sums.h"
#include "tautline/stages/correlate/gpu/plan.h"
#include "tautline/stages/correlate/gpu/tensor.h"
#include "tautline/stages/correlate/gpu/tiled.h"

namespace tautline::stages::correlate::gpu {

namespace {

using Values = std::vector<std::int64_t>;
using Fields = jit::TunableFields<GpuTunables>;

// The designs that support a device and format.
struct Designs {
  bool wgmma = true;
  bool mma = true;
  bool cuda = true;
  bool exact_sums = true;
  bool deferred = true;

  GpuDesign fastest() const {
    return wgmma ? GpuDesign::wgmma : mma ? GpuDesign::mma : GpuDesign::tiled;
  }
  Values values() const {
    Values list{static_cast<std::int64_t>(GpuDesign::tiled)};
    if (mma) list.push_back(static_cast<std::int64_t>(GpuDesign::mma));
    if (wgmma) list.push_back(static_cast<std::int64_t>(GpuDesign::wgmma));
    return list;
  }
};

Designs designs_for(const Config& config, const device::Device& device) {
  return {wgmma_runs(config, device), mma_runs(config, device), device.api() == device::Api::cuda,
          config.exact(), wgmma_runs(config, device) && DeferredSums::worth(config)};
}

void add_tiled(Fields& fields, const Designs& designs) {
  fields
      .add("register_rows", &GpuTunables::tiled, &TiledTunables::register_rows, {1, 2, 4, 8},
           "tiled: sums of one thread: more reuse of operands in registers, fewer threads, more "
           "waste at the diagonal")
      .add("register_columns", &GpuTunables::tiled, &TiledTunables::register_columns, {1, 2, 4, 8},
           "the same in the other direction")
      .add("thread_rows", &GpuTunables::tiled, &TiledTunables::thread_rows, {8, 16},
           "tiled: threads of a group: more reuse in shared memory, larger tiles")
      .add("thread_columns", &GpuTunables::tiled, &TiledTunables::thread_columns, {8, 16},
           "the same in the other direction")
      .add("stage_bytes", &GpuTunables::tiled, &TiledTunables::stage_bytes, {32, 64, 128, 256},
           "tiled: of every input brought to shared memory at a time: fewer barriers, fewer groups "
           "at once")
      .add("local_buffers", &GpuTunables::tiled, &TiledTunables::local_buffers, {0, 1, 2},
           "tiled: 0 reads through the cache, 2 fill one while the other is multiplied")
      .add("vector_bytes", &GpuTunables::tiled, &TiledTunables::vector_bytes, {4, 8, 16},
           "tiled: of one load: fewer instructions, stricter alignment");
  if (designs.cuda)
    fields.add("groups_per_multiprocessor", &GpuTunables::tiled,
               &TiledTunables::groups_per_multiprocessor, {1, 2, 3, 4},
               "tiled: fewer registers a thread, more threads to hide latency with");
  if (designs.exact_sums)
    fields.add("emulate_dot4", &GpuTunables::tiled, &TiledTunables::emulate_dot4, {0, 1},
               "tiled: four products instead of the dot-product instruction");
}

Fields fields_for(const Designs& designs) {
  Fields fields;
  fields.add("design", &GpuTunables::design, designs.values(),
             "which code multiplies: 1 tiled, 2 mma, 3 wgmma");
  add_tiled(fields, designs);
  if (designs.mma)
    fields.add("mma_stages", &GpuTunables::mma, &MmaTunables::stages, {3, 4, 5, 6},
               "mma: steps in shared memory: more fetched ahead, fewer groups at once");
  if (designs.wgmma)
    fields
        .add("wgmma_stages", &GpuTunables::wgmma, &WgmmaTunables::stages, {3, 4, 5, 6},
             "wgmma: steps in shared memory: more fetched ahead")
        .add("wgmma_staging_columns", &GpuTunables::wgmma, &WgmmaTunables::staging_columns,
             {32, 64}, "wgmma: sums handed on at a time: memory that stages could have");
  if (designs.deferred)
    fields.add("wgmma_held_stages", &GpuTunables::wgmma, &WgmmaTunables::deferred_stages,
               {3, 4, 5, 6, 7}, "wgmma, deferred sums: steps in shared memory");
  return fields;
}

// Tunables of other designs keep their defaults: each configuration should occur once.
bool fits(const GpuTunables& t, const GpuTunables& defaults, const Config& config,
          const TiledTarget& target) {
  if (t.design != GpuDesign::tiled && t.tiled != defaults.tiled) return false;
  if (t.design != GpuDesign::mma && t.mma != defaults.mma) return false;
  if (t.design != GpuDesign::wgmma && t.wgmma != defaults.wgmma) return false;
  if (DeferredSums::worth(config) && (t.wgmma.stages != defaults.wgmma.stages ||
                                      t.wgmma.staging_columns != defaults.wgmma.staging_columns))
    return false;
  try {
    if (t.design == GpuDesign::tiled) complete(t.tiled, config, target);
    if (t.design == GpuDesign::mma) complete(t.mma, target.local_bytes);
    if (t.design == GpuDesign::wgmma)
      complete(t.wgmma, target.local_bytes, config.format == core::kCf16);
    return true;
  } catch (const core::Error&) {
    return false;
  }
}

}  // namespace

jit::TuningKey tuning_key(const Config& config, const device::Device& device) {
  const bool deferred = wgmma_runs(config, device) && DeferredSums::worth(config);
  return jit::tuning_key(
      device, "correlate", core::to_string(config.format) + (deferred ? " deferred" : ""),
      {{"inputs", config.inputs}, {"channels", config.channels}, {"samples", config.max_samples}});
}

jit::Space tuning_space(const Config& config, const device::Device& device) {
  const Designs designs = designs_for(config, device);
  const TiledTarget target(device);
  GpuTunables defaults;
  defaults.design = designs.fastest();
  defaults.tiled = complete(TiledTunables{}, config, target);
  if (designs.mma) defaults.mma = complete(MmaTunables{}, target.local_bytes);
  if (designs.wgmma)
    defaults.wgmma = complete(WgmmaTunables{}, target.local_bytes, config.format == core::kCf16);
  return fields_for(designs).space(
      defaults, [=](const GpuTunables& t) { return fits(t, defaults, config, target); });
}

GpuTunables tunables_of(const jit::Configuration& configuration) {
  return fields_for(Designs{}).tunables(configuration);
}

std::shared_ptr<const Plan> make_tuned_plan(const Config& config,
                                            std::shared_ptr<const device::Device> device) {
  return jit::make_tuned(*device, tuning_key(config, *device), tuning_space(config, *device),
                         [&](const jit::Configuration& found, const std::string& note) {
                           return make_gpu_plan(config, device, tunables_of(found), note);
                         });
}

}  // namespace tautline::stages::correlate::gpu

#include "tautline/stages/channelize/gpu/tuning.h"

#include <cstdint>

#include "tautline/core/error.h"
#include "tautline/jit/tunable_fields.h"
#include "tautline/jit/wisdom.h"
#include "tautline/stages/channelize/gpu/dispatch.h"
#include "tautline/stages/channelize/gpu/plan.h"

namespace tautline::stages::channelize::gpu {

namespace {

jit::TunableFields<GpuTunables> fields() {
  const auto number = [](GpuDesign design) { return static_cast<std::int64_t>(design); };
  jit::TunableFields<GpuTunables> list;
  list.add("design", &GpuTunables::design,
           {number(GpuDesign::fused), number(GpuDesign::split), number(GpuDesign::separate)},
           "which kernels: 1 fused, 2 split, 3 separate")
      .add("points", &GpuTunables::points, {4, 8, 16, 32},
           "values of a thread: more of them, fewer exchanges, fewer threads")
      .add("spectra", &GpuTunables::spectra, {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024},
           "of a group: more spectra share loads and write longer pieces of corner-turned rows")
      .add("positions", &GpuTunables::positions, {1, 2, 4, 8},
           "values that a thread filters side by side: wider loads, more registers")
      .add("filter_spectra", &GpuTunables::filter_spectra, {1, 2, 4, 8, 16},
           "spectra that share one conversion of a sample, at the cost of registers")
      .add("groups", &GpuTunables::groups, {1, 2, 3, 4, 5, 6},
           "of a multiprocessor: fewer registers for each thread")
      .add("conversion", &GpuTunables::conversion, {0, 1, 2},
           "of bytes to floats: 0 by instruction, 2 by bits, 1 half of each")
      .add("unrolled_taps", &GpuTunables::unrolled_taps, {4, 8, 16, 32, 64},
           "taps whose loop is unrolled: more loads in flight, more registers")
      .add("fetch", &GpuTunables::fetch, {0, 1},
           "1: persistent groups copy the next batch's samples while they transform one")
      .add("symmetry", &GpuTunables::symmetry, {0, 1},
           "1: values share their coefficients with their mirror images");
  return list;
}

const char* name_of(Output output) {
  constexpr const char* kNames[] = {"spectra", "corner-turned cf32", "corner-turned ci8",
                                    "corner-turned ci4"};
  return kNames[static_cast<std::size_t>(output)];
}

}  // namespace

jit::TuningKey tuning_key(const Bank& bank, const device::Device& device) {
  const Config& c = bank.config;
  return jit::tuning_key(device, "channelize",
                         core::to_string(c.input) + " to " + name_of(c.output),
                         {{"inputs", c.inputs},
                          {"channels", c.channels},
                          {"taps", c.taps},
                          {"samples", c.max_samples},
                          {"hop", bank.hop}});
}

jit::Space tuning_space(const Bank& bank, const device::Device& device) {
  const Target target = Target::of(device);
  const GpuTunables defaults = complete({}, bank, target);
  return fields().space(defaults, [bank, target](const GpuTunables& t) {
    try {
      complete(t, bank, target);
      return true;
    } catch (const core::Error&) {
      return false;
    }
  });
}

GpuTunables tunables_of(const jit::Configuration& configuration) {
  return fields().tunables(configuration);
}

std::shared_ptr<const Plan> make_tuned_plan(std::shared_ptr<const Bank> bank,
                                            std::shared_ptr<const device::Device> device) {
  return jit::make_tuned(*device, tuning_key(*bank, *device), tuning_space(*bank, *device),
                         [&](const jit::Configuration& found, const std::string& note) {
                           return make_gpu_plan(bank, device, {.gpu = tunables_of(found)}, note);
                         });
}

}  // namespace tautline::stages::channelize::gpu

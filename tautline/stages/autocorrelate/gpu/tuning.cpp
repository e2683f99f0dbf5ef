#include "tautline/stages/autocorrelate/gpu/tuning.h"

#include <algorithm>
#include <string>
#include <utility>

#include "tautline/jit/tunable_fields.h"
#include "tautline/jit/wisdom.h"
#include "tautline/stages/autocorrelate/gpu/layout.h"
#include "tautline/stages/autocorrelate/gpu/plan.h"
#include "tautline/stages/autocorrelate/lag_scheme.h"

namespace tautline::stages::autocorrelate::gpu {

namespace {

jit::TunableFields<GpuTunables> fields() {
  jit::TunableFields<GpuTunables> list;
  list.add("design", &GpuTunables::design, {0, 1}, "0: portable, 1: matrix units")
      .add("lags", &GpuTunables::lags, {4, 8, 16, 32},
           "of a thread, portable: they share loads and take registers")
      .add("threads", &GpuTunables::threads, {32, 64, 128, 256}, "of a group, portable")
      .add("part_rows", &GpuTunables::part_rows, {512, 1024, 2048, 4096, 8192, 16384},
           "whose products are added up before they are added to memory")
      .add("chunk_samples", &GpuTunables::chunk_samples, {4096, 16384, 65536, 131072, 262144},
           "that go through all levels at a time")
      .add("pending_rows", &GpuTunables::pending_rows, {256, 512, 1024, 2048},
           "of a coarse level that wait for each other");
  return list;
}

}  // namespace

jit::TuningKey tuning_key(const Config& config, const device::Device& device) {
  std::string variant(core::to_string(config.type));
  if (!config.pairs.empty()) variant += " pairs";
  return jit::tuning_key(device, "autocorrelate", std::move(variant),
                         {{"sensors", config.sensors},
                          {"curves", config.pair_count()},
                          {"lags", lag_count(config)},
                          {"levels", config.levels},
                          {"samples", config.max_samples}});
}

bool portable_tunables_matter(const Config& config, const GpuTunables& tunables) {
  if (tunables.design == GpuDesign::portable) return true;
  const auto levels = make_layout(config, {}, 0).levels;
  return !std::all_of(levels.begin(), levels.end(), fits_matrix_units);
}

jit::Space tuning_space(const Config& config, const device::Device& device) {
  const std::size_t most = std::max<std::size_t>(32, device.properties().max_group_threads);
  const bool matrix = has_matrix_design(device);
  GpuTunables defaults;
  if (!matrix) defaults.design = GpuDesign::portable;
  return fields().space(defaults, [=](const GpuTunables& t) {
    if (t.threads > most || (!matrix && t.design == GpuDesign::matrix)) return false;
    // Configurations that differ only in unused tunables would be measured twice.
    const bool same = t.lags == defaults.lags && t.threads == defaults.threads;
    return same || portable_tunables_matter(config, t);
  });
}

GpuTunables tunables_of(const jit::Configuration& configuration) {
  return fields().tunables(configuration);
}

std::shared_ptr<const Plan> make_tuned_plan(const Config& config,
                                            std::shared_ptr<const device::Device> device) {
  return jit::make_tuned(*device, tuning_key(config, *device), tuning_space(config, *device),
                         [&](const jit::Configuration& found, const std::string& note) {
                           return make_plan(config, device, tunables_of(found), note);
                         });
}

}  // namespace tautline::stages::autocorrelate::gpu

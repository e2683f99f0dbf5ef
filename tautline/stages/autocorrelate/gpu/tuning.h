// The tuning key and the search space of the GPU backend.
#pragma once

#include "tautline/jit/space.h"
#include "tautline/jit/tunable.h"
#include "tautline/stages/autocorrelate/autocorrelate.h"
#include "tautline/stages/autocorrelate/tunables.h"

namespace tautline::stages::autocorrelate::gpu {

jit::TuningKey tuning_key(const Config& config, const device::Device& device);
jit::Space tuning_space(const Config& config, const device::Device& device);
/// Whether the portable design's tunables matter: not where matrix units multiply every level.
bool portable_tunables_matter(const Config& config, const GpuTunables& tunables);
GpuTunables tunables_of(const jit::Configuration& configuration);

}  // namespace tautline::stages::autocorrelate::gpu

// Dedispersion as a problem with sizes: what tuning and measurements share.
#pragma once

#include <memory>

#include "tautline/jit/tunable.h"
#include "tautline/pipeline/measure_stage.h"
#include "tautline/stages/dedisperse/dedisperse.h"

namespace tautline::pipeline {

/// Channels from the highest down (top_khz, width_hz), trials from 0 in even steps (step_millidm),
/// blocks of `samples` at rate_hz; method 0 to 3 as stages::dedisperse::Method counts, where the
/// problem has one. Throws Error(config) for another.
stages::dedisperse::Config dedisperse_config(const Problem& sizes);

/// One block in the middle of a stream, its spectra where the device computes.
Measurement measure_dedisperse(const Problem& sizes,
                               const std::shared_ptr<const device::Device>& device,
                               const Limits& limits, double budget_s);

jit::Tunable tune_dedisperse(const Problem& sizes,
                             const std::shared_ptr<const device::Device>& device);

}  // namespace tautline::pipeline

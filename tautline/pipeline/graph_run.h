// What every room's builder of a graph needs to run it.
#pragma once

#include <cstddef>

#include "tautline/core/time.h"
#include "tautline/engine/run.h"
#include "tautline/pipeline/progress.h"

namespace tautline::pipeline {

/// Options of a run whose first source gives samples at `rate_hz`: `reporter`, which outlives the run, is told how far
/// it has come. `memory_bytes`: most that the run may take on the host; 0: no limit.
engine::RunOptions run_options(ProgressReporter& reporter, const core::Rational& rate_hz,
                               std::size_t memory_bytes = 0);

}  // namespace tautline::pipeline

// Whole runs of the commands, from a file in the page cache to results: files of random data are made in the folder for
// temporary files (TMPDIR) and removed afterwards.
#pragma once

#include <memory>
#include <vector>

#include "tautline/pipeline/bench/measure_limits.h"
#include "tautline/pipeline/bench/measurement.h"
#include "tautline/pipeline/bench/problem.h"

namespace tautline::pipeline {

using DevicePointer = std::shared_ptr<const device::Device>;

/// Each function makes one run that is not counted, then five, and more as long as `budget_s`
/// allows; `seconds` without set-up. The fraction of the limit is the run's efficiency, the limit
/// the node that bounds the run (engine/profile.h); of dedispersion, whose output is large, the limit is plain writing
/// of as many bytes.
Measurement measure_run_correlate(const Problem& sizes, const std::vector<DevicePointer>& devices,
                                  const Limits& limits, double budget_s);
Measurement measure_run_channelize(const Problem& sizes, const std::vector<DevicePointer>& devices,
                                   const Limits& limits, double budget_s);
Measurement measure_run_search(const Problem& sizes, const std::vector<DevicePointer>& devices,
                               const Limits& limits, double budget_s);
Measurement measure_run_dedisperse(const Problem& sizes, const std::vector<DevicePointer>& devices,
                                   const Limits& limits, double budget_s);
Measurement measure_run_autocorrelate(const Problem& sizes,
                                      const std::vector<DevicePointer>& devices,
                                      const Limits& limits, double budget_s);

}  // namespace tautline::pipeline

// Inputs whose power steps where files of voltages join (docs/design/empty.md).
#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "tautline/core/step_fit.h"
#include "tautline/stream/voltage_sequence.h"
#include "tautline/stream/voltage_step.h"

namespace tautline::stream {

/// Looks at 16 blocks of 64 to 16,384 times on either side of each join without a gap that lies inside what `options` take;
/// of shorter files nothing is said. An input steps where the difference exceeds `standard_errors`. Opens the files for
/// itself. Throws core::Error as they do; what was found so far where `stop` is requested.
std::vector<VoltageStep> find_voltage_steps(const std::vector<std::string>& files,
                                            const SequenceOptions& options,
                                            const std::stop_token& stop = {},
                                            double standard_errors = core::kStepStandardErrors);

}  // namespace tautline::stream

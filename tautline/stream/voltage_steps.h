// Inputs whose power steps where files of voltages join (docs/design/empty.md).
#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "tautline/core/step_fit.h"
#include "tautline/stream/voltage_sequence.h"
#include "tautline/stream/voltage_step.h"

namespace tautline::stream {

/// Compares 16 blocks of 64 to 16,384 times on either side of each join without a gap that lies inside the part that
/// `options` selects; shorter files are skipped. An input steps where the difference exceeds `standard_errors`. Opens
/// the files for itself. Throws the readers' core::Error; returns the steps found so far where `stop` is requested.
std::vector<VoltageStep> find_voltage_steps(const std::vector<std::string>& files,
                                            const SequenceOptions& options,
                                            const std::stop_token& stop = {},
                                            double standard_errors = core::kStepStandardErrors);

}  // namespace tautline::stream

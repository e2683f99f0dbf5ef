// The zero-DM filter on a GPU, taken off the sums of bytes: not part of the stage's interface.
//
//   trial i less the filter = S[i][t] - M[i][t] / K,    M[i][t] = sum over c of s[t + d(i, c)]
//
// with s the sum of all K summed channels at each time. Both S and M are whole numbers, so one
// product with 1 / K and one rounding to float are all that differs from real numbers, whatever the
// device.
#pragma once

#include <memory>

#include "tautline/stages/dedisperse/backends.h"

namespace tautline::stages::dedisperse {

/// Whether the trials of `config` can be had that way on `device`: rows of bytes, and so few
/// channels that a transform's digits come out whole.
bool corrects_sums(const Config& config, const device::Device& device);

/// `sums` are made by make_gpu_plan of plan->without_zero_dm().
std::shared_ptr<const Plan> make_zero_dm_plan(std::shared_ptr<const DelayPlan> plan,
                                              std::shared_ptr<const Plan> sums,
                                              std::shared_ptr<const device::Device> device,
                                              const Tunables& tunables);

}  // namespace tautline::stages::dedisperse

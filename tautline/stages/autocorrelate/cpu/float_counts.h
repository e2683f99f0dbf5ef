// Floats that are counts: not part of the stage's interface.
#pragma once

#include <functional>
#include <memory>

#include "tautline/stages/autocorrelate/autocorrelate.h"

namespace tautline::stages::autocorrelate::cpu {

/// Sums the samples, floats, as counts of 8 or 16 bits, which is exact and several times as fast.
/// Returns false, with nothing written, where a sample is not a whole number from 0 to 65,535,
/// where sums could reach 2^63, and where the sensors of a row are not contiguous. `progress` is `autocorrelate`'s.
bool autocorrelate_counts(const Config& config, const std::shared_ptr<const device::Device>& device,
                          const core::SampleView<2>& samples, const Sums& sums,
                          const std::function<void(std::size_t)>& progress = {});

}  // namespace tautline::stages::autocorrelate::cpu

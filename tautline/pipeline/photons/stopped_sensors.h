// Sensors of a run that stopped or never changed, by their trace (docs/design/empty.md).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tautline/pipeline/photons/empty_counts.h"

namespace tautline::pipeline {

/// Where `good` sensors (1 or 0 of each) had stopped or never changed, by their `counts` [step][sensor] in steps of
/// `step_samples`, of `step_s` seconds: first all sensors together; then each by itself, outside of these stretches, with
/// its single_stops(). Steps that have some of `left_out` are not looked at.
std::vector<SensorStretch> stopped_sensors(std::span<const double> counts,
                                           std::uint64_t step_samples, double step_s,
                                           std::span<const std::uint8_t> good,
                                           std::span<const BinRange> left_out = {});

}  // namespace tautline::pipeline

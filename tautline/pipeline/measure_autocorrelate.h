// Autocorrelation as a problem with sizes: what tuning and measurements share.
//
// | size     | meaning                                                       |
// | sensors  | each with itself                                              |
// | bins     | lags of a group, or m of the standard lags                    |
// | levels   | groups                                                        |
// | samples  | times of one packet                                           |
// | bits     | of a count: 8, 16 or 32                                       |
// | float    | 1: counts of 32 bits are floats                               |
// | standard | 1: the lags of multipletau, 0: chain                           |
// | most     | largest count; all up to it are equally likely (measurements) |
// | rate_hz  | of an array's samples: one over its bin (measurements)        |
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "tautline/jit/tunable.h"
#include "tautline/pipeline/measure_stage.h"
#include "tautline/stages/autocorrelate/autocorrelate.h"

namespace tautline::pipeline {

/// Throws Error(config) for bits that no count has.
stages::autocorrelate::Config autocorrelate_config(const Problem& sizes);

/// One packet after the other, counts where the device computes. A state near the end of 64 bits
/// begins anew.
Measurement measure_autocorrelate(const Problem& sizes,
                                  const std::shared_ptr<const device::Device>& device,
                                  const Limits& limits, double budget_s);

jit::Tunable tune_autocorrelate(const Problem& sizes,
                                const std::shared_ptr<const device::Device>& device);

/// "type=u16" (u8, u16, u32, f32) and "ladder=standard" (chain), in sizes. Empty for other words.
Problem count_words(std::string_view word);

/// Packets from pinned memory, without an end, and curves back once a second: the time of one
/// reading is measured by itself, and so much of each second is taken off. Each of several devices
/// takes its share of the sensors, as an array of its own. Sums of some packets are compared with
/// those of the same packets alone; throws Error(device) when they differ.
Measurement measure_host_fed_counts(
    const Problem& sizes, const std::vector<std::shared_ptr<const device::Device>>& devices,
    const Limits& limits, double budget_s);

}  // namespace tautline::pipeline

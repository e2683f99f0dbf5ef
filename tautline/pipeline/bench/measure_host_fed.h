// Rates with everything in the host's memory: blocks go to the device, are worked on, and results
// come back, three blocks under way at a time. Nothing is allocated once the first block has left.
//
// | name                | block in                        | block out                       |
// | host_fed_copy       | bytes                           | the same                        |
// | host_fed_correlate  | [channel][input][time] ci8      | [channel][baseline] ci64, int64 |
// | host_fed_channelize | [input][time] ci8               | [channel][input][time] ci8      |
// | host_fed_fx         | [input][time] ci8               | [channel][baseline] ci64, int64 |
//
// and host_fed_autocorrelate, [time][sensor] counts of a stream without an end, which uploads by
// itself (stage_run.h).
//
// host_fed_copy shows what the way there and back allows; host_fed_correlate takes some channels of
// an array for a whole integration each time; host_fed_fx runs the filter bank, requantises, and
// correlates the result: blocks are integrations.
//
// Several devices work at the same time, each with streams of its own: of host_fed_correlate each
// takes its share of every block's channels, of host_fed_autocorrelate of the sensors, of the
// others whole blocks in turn. The limits are so many times one device's. Devices that
// share the host's memory by nature (cpu, reference) have nothing to be fed: measure_stage refuses
// them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tautline/pipeline/bench/measure_limits.h"
#include "tautline/pipeline/bench/measurement.h"
#include "tautline/pipeline/bench/problem.h"

namespace tautline::pipeline {

// The last block's results are compared, bit for bit, with what the same blocks give one at a time;
// throws Error(device) when they differ.
Measurement measure_host_fed_copy(const Problem& sizes,
                                  const std::vector<std::shared_ptr<const device::Device>>& devices,
                                  const Limits& limits, double budget_s);
Measurement measure_host_fed_channelize(
    const Problem& sizes, const std::vector<std::shared_ptr<const device::Device>>& devices,
    const Limits& limits, double budget_s);
Measurement measure_host_fed_correlate(
    const Problem& sizes, const std::vector<std::shared_ptr<const device::Device>>& devices,
    const Limits& limits, double budget_s);
Measurement measure_host_fed_fx(const Problem& sizes,
                                const std::vector<std::shared_ptr<const device::Device>>& devices,
                                const Limits& limits, double budget_s);

}  // namespace tautline::pipeline

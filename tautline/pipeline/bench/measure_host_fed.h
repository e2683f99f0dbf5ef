// Rates with all data in the host's memory: blocks go to the device and are processed, and results
// return, three blocks under way at a time. Nothing is allocated once the first block has left.
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
// host_fed_copy shows the rate that the link allows both ways; host_fed_correlate takes some
// channels of an array for a whole integration each time; host_fed_fx runs the filter bank,
// requantises, and correlates the result: blocks are integrations.
//
// Several devices work at the same time, each with streams of its own. Each takes its share of the
// channels of every block (host_fed_correlate), of the sensors (host_fed_autocorrelate), or whole
// blocks in turn (the others). The limits are those of one device times their number. Devices that
// share the host's memory by nature (cpu, reference) need no feeding: measure_stage refuses them.
#pragma once

#include <memory>
#include <vector>

#include "tautline/pipeline/bench/measure_limits.h"
#include "tautline/pipeline/bench/measurement.h"
#include "tautline/pipeline/bench/problem.h"

namespace tautline::pipeline {

// The results of the last block are compared, bit for bit, with the results of the same blocks one
// at a time; throws Error(device) when they differ.
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

// Filterbank files to a list of pulses: clean, dedisperse, detect.
#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include "tautline/device/device.h"
#include "tautline/pipeline/progress.h"
#include "tautline/pipeline/search/search_config.h"
#include "tautline/pipeline/search/search_summary.h"

namespace tautline::pipeline {

/// Each trial is searched to its last complete sample. A gap in the data ends a search and begins another; of a
/// segment that is shorter than the highest DMs' delays the lower ones are searched. When the trials do not fit into
/// memory_bytes at once, the input is read several times: with exact sums the list is the same to the bit, sub-bands
/// may differ within their loss. Beams are searched one after the other, with the same plans and in the same memory;
/// they may differ in start and length. What comes by a pipe is searched as it comes, in one pass: candidates are
/// those of a file of the same bytes, if its channels that never change are those that do not in the first
/// kFirstSpectra; a stop ends it with what had come. `announce` is given the plan before the run. The list and its
/// record have their names before pictures, page and cut-outs are made, each of which has its own when it is whole: a
/// stop then keeps them. Throws core::Error; before the list is there, only `events` is.
SearchSummary search_filterbank(const SearchConfig& config,
                                std::shared_ptr<const device::Device> device,
                                const ProgressCallback& progress = {},
                                const std::function<void(const std::string&)>& announce = {},
                                std::stop_token stop = {}, const SearchDrawing& drawing = {});

/// The plan alone, to `announce` and in what it returns: trials, boxcars, passes, losses, memory and
/// the time to expect. Reads no more than what is left out is chosen by, and writes nothing.
SearchSummary plan_search(const SearchConfig& config, std::shared_ptr<const device::Device> device,
                          const std::function<void(const std::string&)>& announce = {});

}  // namespace tautline::pipeline

// The parts of the record beside the output that dedisperse and search share: remarks, the bandpass, cleaning.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "tautline/device/device.h"
#include "tautline/formats/filterbank_reader.h"
#include "tautline/pipeline/search/filterbank_run.h"
#include "tautline/pipeline/search/left_out_channels.h"
#include "tautline/stages/dedisperse/dedisperse.h"

namespace tautline::pipeline {

/// Logs a reader's messages about its files, as warnings.
void log_remarks(const formats::FilterbankReader& reader, const device::Device& device);

/// Sums over time of each channel, added to `total` (empty: nothing yet).
void add_moments(const std::vector<stages::dedisperse::Moments>& moments,
                 std::vector<stages::dedisperse::Moments>& total);
/// Of sums over samples that have `zero_level` for 0.
Bandpass bandpass_of(const std::vector<stages::dedisperse::Moments>& moments, double zero_level);

/// The part of a record that is the same for both: version, inputs, cleaning, counters.
nlohmann::ordered_json filterbank_record(const std::string& schema,
                                         const FilterbankRunConfig& config,
                                         const FilterbankRunSummary& summary,
                                         const formats::FilterbankDescription& description,
                                         const LeftOutChannels& left_out,
                                         const device::Device& device);

}  // namespace tautline::pipeline

// The gains of a whole run, from its first spectra, measured before it begins.
#pragma once

#include <cstddef>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "tautline/device/device.h"
#include "tautline/pipeline/voltages/filter_config.h"
#include "tautline/pipeline/voltages/voltage_streams.h"
#include "tautline/stream/peeked_voltages.h"
#include "tautline/stream/voltage_sequence.h"

namespace tautline::pipeline {

struct CorrelateConfig;

/// [channel][input] gains for filter.output (corner_turned_ci8 or corner_turned_ci4) over the first kGainSpectra
/// spectra of the files, with the filter bank's output in floats. An input that is invalid throughout these is measured
/// over the next kGainSpectra in which it is not, at most kMostGainPeriods times, or for as long as all inputs are
/// invalid; after that it gets the median gain of the others. Runs before other memory is allocated; throws
/// Error(memory) beyond `memory_bytes`.
std::vector<float> measure_gains(const std::vector<std::string>& files,
                                 const stream::SequenceOptions& options, const FilterConfig& filter,
                                 std::shared_ptr<const device::Device> device,
                                 std::size_t memory_bytes, const std::stop_token& stop = {});

/// The same for a live stream, whose blocks have `samples`, over its first kGainSpectra spectra only: inputs that are
/// invalid throughout these get the median gain of the others. Where all are, the next kGainSpectra are measured, at
/// most kMostGainPeriods times and in half of the memory. Called when its source has started, or starts on another
/// thread.
std::vector<float> measure_gains(stream::PeekedVoltages& live, std::size_t samples,
                                 bool keep_constant, const FilterConfig& filter,
                                 std::shared_ptr<const device::Device> device,
                                 std::size_t memory_bytes, const std::stop_token& stop);

/// The gains of a filter bank; null where nothing is rounded. `filter` has the output, `measure` measures the first
/// gains. Throws Error(config) where gains are chosen and nothing is rounded, or where they cannot change as
/// configured.
SharedGains make_gains(const CorrelateConfig& config, const core::VoltageDescription& description,
                       const FilterConfig& filter, bool delayed, Gains::Measure measure);

}  // namespace tautline::pipeline

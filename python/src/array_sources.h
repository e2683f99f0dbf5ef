// Arrays of Python's in place of files: the functions that give their readers.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "bindings.h"
#include "tautline/formats/count_reader.h"
#include "tautline/formats/filterbank_reader.h"
#include "tautline/formats/photon_reader.h"
#include "tautline/formats/voltage_reader.h"

namespace tautline::python {

// The arrays outlive what the functions give. `there`: the device in whose memory the array lies; null: the host's.
// Throws Error(config) for an array that lies elsewhere.

/// [channel][input][time]; facts rate_hz ("2/3"), centre_hz, bandwidth_hz, polarisations, start.
std::function<std::unique_ptr<formats::VoltageReader>()> source_of_voltages(
    const AnyArray& samples, bool pairs, const nb::dict& facts,
    std::shared_ptr<const device::Device> there = nullptr);
/// [time][channel]; facts frequencies (MHz), sample_time_s, rate_hz, start.
std::function<std::unique_ptr<formats::FilterbankReader>()> source_of_filterbank(
    const AnyArray& samples, const nb::dict& facts,
    std::shared_ptr<const device::Device> there = nullptr);
/// [time][sensor]; facts none, or bin_s.
std::function<std::unique_ptr<formats::CountReader>()> source_of_counts(
    const AnyArray& counts, const nb::dict& facts,
    std::shared_ptr<const device::Device> there = nullptr);

/// Time tags of detectors 0, 1, ..., ascending, in ticks of `tick_s`.
std::function<std::unique_ptr<formats::PhotonReader>()> source_of_tags(
    std::vector<std::span<const std::uint64_t>> tags, double tick_s);

}  // namespace tautline::python

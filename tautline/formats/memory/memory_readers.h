// Readers of arrays in the host's memory, so that runs over files take arrays, too.
//
// | array      | axes                    | type                              | must be               |
// | counts     | [time][sensor]          | u8 u16 u32 f32                    | of any strides        |
// | voltages   | [channel][input][time]  | ci8 ci16 cf32 i8 i16 f32          | dense along time      |
// | filterbank | [time][channel]         | u8 i8 u16 i16 f32                 | of any strides        |
//
// The arrays outlive the readers. The descriptions have the facts that a file's header has; types and sizes are taken
// from the arrays. Signed filterbanks are delivered unsigned, as FilterbankDescription::zero_level says.
#pragma once

#include <memory>

#include "tautline/core/sample_view.h"
#include "tautline/formats/count_reader.h"
#include "tautline/formats/filterbank_reader.h"
#include "tautline/formats/voltage_reader.h"

namespace tautline::formats {

/// Throws Error(config) on other types, and read() on a float that is no count.
std::unique_ptr<CountReader> open_memory_counts(const core::SampleView<2>& counts,
                                                CountDescription description);

/// The inputs are description.polarisations of each antenna. Throws Error(config) on other types, and when the inputs
/// are not whole antennas.
std::unique_ptr<VoltageReader> open_memory_voltages(const core::SampleView<3>& samples,
                                                    core::VoltageDescription description);

/// description.channel_mhz has a frequency for each channel. Throws Error(config).
std::unique_ptr<FilterbankReader> open_memory_filterbank(const core::SampleView<2>& samples,
                                                         FilterbankDescription description);

}  // namespace tautline::formats

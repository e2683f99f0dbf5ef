// Readers of arrays in memory, so that runs over files take arrays, too.
//
// | array      | axes                    | type                              | must be               |
// | counts     | [time][sensor]          | u8 u16 u32 f32                    | of any strides        |
// | voltages   | [channel][input][time]  | ci8 ci16 cf32 i8 i16 f32          | dense along time      |
// | filterbank | [time][channel]         | u8 i8 u16 i16 f32                 | of any strides        |
//
// The arrays outlive the readers. The descriptions have the facts that a file's header has; types and sizes are taken
// from the arrays. Signed filterbanks are delivered unsigned, as FilterbankDescription::zero_level says; unsigned ones
// whose values are all at most 1 or 3 are those of a file of 1 or 2 bits.
//
// An array may lie in a device's memory: then the caller gives the function that copies rows from there to where a read
// wants them. Its last axis must be dense. These samples are not looked at: floats that are no counts are delivered, and
// signed filterbanks as they are, with a zero_level of 0.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "tautline/core/sample_view.h"
#include "tautline/formats/count_reader.h"
#include "tautline/formats/filterbank_reader.h"
#include "tautline/formats/voltage_reader.h"

namespace tautline::formats {

/// Copies `rows` rows of `row_bytes` from a device's memory to its memory or the host's; `stride` and `from_stride`
/// bytes lie between the starts of two rows. Returns when the copy is done.
using CopyRows =
    std::function<void(std::byte* to, std::size_t stride, const std::byte* from,
                       std::ptrdiff_t from_stride, std::size_t row_bytes, std::size_t rows)>;

/// Throws Error(config) on other types, and read() on a float that is no count.
std::unique_ptr<CountReader> open_memory_counts(const core::SampleView<2>& counts,
                                                CountDescription description, CopyRows copy = {});

/// The inputs are description.polarisations of each antenna. Throws Error(config) on other types, and when the inputs
/// are not whole antennas.
std::unique_ptr<VoltageReader> open_memory_voltages(const core::SampleView<3>& samples,
                                                    core::VoltageDescription description,
                                                    CopyRows copy = {});

/// description.channel_mhz has a frequency for each channel. Throws Error(config).
std::unique_ptr<FilterbankReader> open_memory_filterbank(const core::SampleView<2>& samples,
                                                         FilterbankDescription description,
                                                         CopyRows copy = {});

}  // namespace tautline::formats

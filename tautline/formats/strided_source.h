// Samples of a file whose time axis may be any of its axes, block by block.
//
// The file holds, from `data_offset_bytes` on, [outer row][time][inner bits] without holes: outer
// rows are every combination of the axes slower than time, inner bits every axis faster than time.
// A block holds the same axes for an interval of time, each outer row begun on a byte:
// [outer row][samples][inner bits].
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "tautline/core/voltage.h"
#include "tautline/formats/input_file.h"
#include "tautline/formats/record_mask.h"
#include "tautline/formats/voltage_reader.h"

namespace tautline::formats {

struct StridedShape {
  std::uint64_t data_offset_bytes = 0;
  std::size_t outer_rows = 1;
  std::size_t inner_bits = 8;  ///< of one time in one outer row
  std::uint64_t times = 0;     ///< in every outer row

  /// Bits from one outer row of a block of `samples` to the next.
  std::size_t row_stride_bits(std::size_t samples) const {
    return (samples * inner_bits + 7) / 8 * 8;
  }
  std::size_t block_bytes(std::size_t samples) const {
    return outer_rows * (row_stride_bits(samples) / 8);
  }
};

/// Axes of one sample in file order, slowest first, with time among them; what the layouts of
/// blocks follow from.
struct SampleAxis {
  char letter = 'T';  ///< T time, F channel, A antenna, P polarisation
  std::size_t extent = 1;
};

/// outer_rows and inner_bits of those axes.
StridedShape shape_of(const std::vector<SampleAxis>& axes, const core::SampleFormat& format);

/// The layout of a block of `samples` times.
core::RawLayout layout_of(const std::vector<SampleAxis>& axes, const core::SampleFormat& format,
                          std::size_t samples);
/// The same for axes in this order, slowest first ("TFAP"), with the description's extents.
core::RawLayout layout_of(std::string_view order, const core::VoltageDescription& description,
                          std::size_t samples);

/// A VoltageReader over such a file. `shape.times` is the number of times by the header; times of a row that the file
/// lacks are zero, invalid and counted. `damage`: found while the header was read. `mask`: the invalid samples by the
/// record beside the file.
std::unique_ptr<VoltageReader> open_strided(InputFile file, core::VoltageDescription description,
                                            std::vector<SampleAxis> axes, StridedShape shape,
                                            Damage damage, RecordMask mask = {});

/// What is looked at where bytes go on behind the samples that a header promises.
struct BytesBehind {
  std::uint64_t data_bytes = 0;                          ///< of the promised samples
  std::size_t most_bytes = 0;                            ///< given to `look`, fewer at the end
  std::function<void(std::span<const std::byte>)> look;  ///< throws where they are no samples
};

/// The same for bytes that come in order, with one outer row: its times are those that come, and `at_end` is called
/// with the number of bytes of samples.
std::unique_ptr<VoltageReader> open_strided_in_order(
    InputFile file, core::VoltageDescription description, std::vector<SampleAxis> axes,
    StridedShape shape, std::function<void(std::uint64_t data_bytes, Damage&)> at_end,
    BytesBehind behind = {});

}  // namespace tautline::formats

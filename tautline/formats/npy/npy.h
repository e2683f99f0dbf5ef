// NPY arrays of antenna voltages: read and write. docs/guide/formats.md says which shapes mean
// what.
//
// | shape                              | means                                            |
// | [time]                             | one input                                        |
// | [input][time]                      | several                                          |
// | [channel][input][time]             | channelized already, as `channelize` writes      |
// | [channel][antenna][pol][time]      | the same with inputs taken apart                 |
//
// Time comes last, as everywhere in tautline; an array saved in Fortran order is read too, which is
// what numpy.save(file, x.T) writes for x of [time][input]. Types are f4 and c8, and i1, u1
// (offset binary), i2, u2 that are real or have a last axis of 2, re and im.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tautline/core/sample_format.h"
#include "tautline/formats/input_file.h"
#include "tautline/formats/partial_file.h"
#include "tautline/formats/voltage_reader.h"

namespace tautline::formats::npy {

/// Whether a file that begins with these bytes and has this name is NPY.
bool recognise(std::span<const std::byte> first_bytes, const std::string& name);

/// Whether PATH.json is the record that `channelize` wrote with this array.
bool has_channelize_record(const std::string& path);

/// `assumed` has the facts that an array lacks: rate_hz (required), format.complex (whether integers have a last axis
/// of 2), polarisations (which must divide the inputs), start, centre and bandwidth (0: the bandwidth that the rate
/// implies). Facts that it leaves open are taken from PATH.json, where channelize wrote one. Throws Error(config) when
/// the rate is missing.
std::unique_ptr<VoltageReader> open(const std::string& path,
                                    const core::VoltageDescription& assumed);

/// Whether an array with this beginning, its whole header, has time as its slowest axis whatever its samples are: in
/// Fortran order, or with one axis.
bool comes_in_order(std::span<const std::byte> first_bytes);
/// Opens bytes that come in order. There is no record beside them, and the shape does not end them: fewer are named as
/// missing, more are taken. Throws Error(unsupported) where time is not the slowest axis.
std::unique_ptr<VoltageReader> open_in_order(InputFile bytes,
                                             const core::VoltageDescription& assumed);

/// Writes one array front to back. Every failure is Error(io) with the path and the reason;
/// destroyed before finish(), it leaves nothing.
class ArrayWriter {
 public:
  /// `type` as numpy writes it ("<f4"), C order.
  ArrayWriter(const std::string& path, const std::string& type,
              const std::vector<std::uint64_t>& shape, bool overwrite);
  void write(std::span<const std::byte> bytes);
  /// Throws Error(config) unless the whole array was written.
  void finish();

 private:
  std::uint64_t expected_bytes_ = 0;
  PartialFile file_;
};

/// Writes rows that grow together, [row][time]. They lie a whole stream apart, so the space for the expected times is
/// reserved at once. When more come (a live stream, or gaps that a size does not tell) the rows are moved apart, and
/// what stays unused is taken out at the end, when the header is written.
class GrowingRows {
 public:
  /// The header of an array of so many times, at least `least_bytes` long.
  using Header = std::function<std::string(std::uint64_t samples, std::size_t least_bytes)>;

  /// Throws Error(io) when the disk has no room for what is expected.
  GrowingRows(const std::string& path, std::size_t rows, std::size_t sample_bytes,
              std::uint64_t expected_samples, bool overwrite, Header header);

  /// Appends `count` times of every row: row(k) gives the bytes of one. Throws Error(io) when the disk has no room.
  void write(std::size_t count,
             const std::function<std::span<const std::byte>(std::size_t row)>& row);
  std::uint64_t samples() const { return samples_; }
  const std::string& path() const { return file_.path(); }
  void finish();

 private:
  void reserve(std::uint64_t row_samples);
  void space_rows(std::uint64_t row_samples);
  void move(std::uint64_t to, std::uint64_t from, std::uint64_t bytes);

  std::size_t rows_, sample_bytes_;
  std::uint64_t row_samples_ = 0;  // from one row to the next
  std::uint64_t samples_ = 0;
  std::uint64_t data_offset_bytes_ = 0;
  Header header_;
  PartialFile file_;
};

/// Writes [channel][input][time] as it comes, an interval of time at once: complex64 for cf32, int8
/// with a last axis of 2 for ci8 and ci4 (widened).
class RowsWriter {
 public:
  /// Throws Error(config) on another format, and Error(io) when the disk has no room for what is
  /// expected.
  RowsWriter(const std::string& path, const core::SampleFormat& format, std::size_t channels,
             std::size_t inputs, std::uint64_t expected_samples, bool overwrite);

  /// Appends `count` times of every row. Throws Error(io) when the disk has no room for them.
  void write(const void* samples, std::size_t channel_stride_bytes, std::size_t row_stride_bytes,
             std::size_t count);
  std::uint64_t samples() const { return rows_.samples(); }
  void finish() { rows_.finish(); }

 private:
  core::SampleFormat format_;
  std::size_t inputs_;
  GrowingRows rows_;
  std::vector<std::byte> widened_;
};

}  // namespace tautline::formats::npy

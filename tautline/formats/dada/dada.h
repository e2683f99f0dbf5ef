// DADA files of antenna voltages: read and write. docs/guide/formats.md lists the understood keys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tautline/core/voltage.h"
#include "tautline/formats/input_file.h"
#include "tautline/formats/partial_file.h"
#include "tautline/formats/voltage_reader.h"

namespace tautline::formats::dada {

/// Whether a file that begins with these bytes and has this name is DADA.
bool recognise(std::span<const std::byte> first_bytes, const std::string& name);

/// Whether samples of a stream that begins with these bytes can be processed as they come: time is the slowest axis.
bool comes_in_order(std::span<const std::byte> first_bytes);

/// Throws Error(format) on a header that contradicts itself or the file, Error(io) otherwise. Of bytes that come in
/// order FILE_SIZE is how many are missed where fewer come; it does not end them.
std::unique_ptr<VoltageReader> open(InputFile file);

struct WriteOptions {
  bool overwrite = false;
  /// Axes from slowest to fastest; T (time) comes first, since the file is written as a stream.
  std::string order = "TFAP";
  /// More keys for the header: one word, one line.
  std::vector<std::pair<std::string, std::string>> extra{};
};

/// Writes PATH.partial and renames it on finish(); destroyed before that, it leaves nothing.
/// Every failure is Error(io) with the path and the reason.
class Writer {
 public:
  Writer(const std::string& path, const core::VoltageDescription& description,
         const WriteOptions& options = {});

  /// Appends whole times: samples in the file's order, packed as the description's format says.
  /// Throws Error(config) when the bytes make no whole number of times.
  void write(std::span<const std::byte> samples);

  /// Appends `count` times of [channel][input][time] rows, as stages leave them; a sample must be
  /// whole bytes. Rows of one channel are `row_stride_bytes` apart, channels
  /// `channel_stride_bytes`.
  void write_rows(const void* samples, std::size_t channel_stride_bytes,
                  std::size_t row_stride_bytes, std::size_t count);

  /// Times written so far.
  std::uint64_t samples() const;
  /// Puts the number of bytes into the header (FILE_SIZE) and gives the file its name.
  void finish();

 private:
  core::VoltageDescription description_;
  core::RawLayout layout_;
  std::uint64_t time_bits_ = 0;
  std::uint64_t header_bytes_ = 0;
  std::size_t file_size_at_ = 0;
  PartialFile file_;
  std::vector<const std::byte*> rows_;  // in the file's order within a time
  std::vector<std::byte> transposed_;
};

}  // namespace tautline::formats::dada

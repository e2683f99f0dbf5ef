// One stretch as a file of voltages or a filterbank, with its record beside it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "tautline/pipeline/voltages/stretch.h"

namespace tautline::pipeline {

/// Both files get their names when complete; an object that is destroyed before leaves no files. Every failure is
/// Error(io).
class DumpFile {
 public:
  virtual ~DumpFile() = default;
  /// Writes a piece of kind data, from the bytes of its block.
  virtual void write(const StretchPiece& piece, std::span<const std::byte> bytes) = 0;
  /// Writes missing times, as zeros.
  virtual void fill(std::uint64_t samples) = 0;
  virtual std::uint64_t samples() const = 0;
  virtual const std::string& path() const = 0;
  /// `record`, followed by: start_utc, samples, rate_hz, centre_hz, bandwidth_hz, padding_samples (of VDIF), invalid.
  virtual void finish(nlohmann::ordered_json record) = 0;
};

struct DumpFileOptions {
  std::string path;  ///< .dada or .vdif of voltages, .fil of filterbanks; the record is PATH.json
  bool overwrite = false;
  std::string history;
};

/// Throws Error(config) of "path" where the name's ending is of no format.
void require_dump_name(const std::string& path);
/// Throws Error(config) of "path" where the format is for other data, Error(unsupported) for data that the format
/// cannot represent.
void require_dumpable(const std::string& path, const Stretches& of);

/// A file that begins with this piece.
std::unique_ptr<DumpFile> make_dump_file(const DumpFileOptions& options, const Stretches& of,
                                         const StretchPiece& first);

/// Bits of a spectrum in a file.
std::size_t spectrum_bits(const formats::FilterbankDescription& description);

}  // namespace tautline::pipeline

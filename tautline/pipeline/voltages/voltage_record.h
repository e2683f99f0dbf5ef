// Raw voltages to a DADA or VDIF file, with a record beside it that says which samples are invalid.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tautline/core/voltage.h"
#include "tautline/formats/dada/dada.h"
#include "tautline/formats/vdif/writer.h"

namespace tautline::pipeline {

struct VoltageRecordOptions {
  std::string path;  ///< .dada or .vdif; the record is PATH.json
  bool overwrite = false;
  std::string history;
  std::vector<std::pair<std::string, std::string>> header = {};  ///< more keys of DADA's
};

/// Throws Error(config) of "path" for a name whose ending says no format.
void require_record_name(const std::string& path);
/// Throws Error(unsupported) for samples that a file of that name cannot hold: a time must fill whole bytes.
void require_recordable(const std::string& path, const core::VoltageDescription& description);
/// Of all channels and inputs, for such samples.
std::size_t time_bytes_of(const core::VoltageDescription& description);

/// Both files are whole when they get their names; destroyed before that, they leave nothing. Every failure is Error(io).
class VoltageRecord {
 public:
  /// `description.start` is that of the first sample.
  VoltageRecord(VoltageRecordOptions options, const core::VoltageDescription& description);

  /// Times [first, first + samples) of a block, bit for bit; `invalid` counts from the block's first time.
  void write(std::span<const std::byte> bytes, const core::RawLayout& layout, std::size_t first,
             std::size_t samples, std::span<const core::InvalidSpan> invalid);
  /// Times that are missing, as zeros.
  void fill(std::uint64_t samples);
  std::uint64_t samples() const { return samples_; }
  const std::string& path() const { return options_.path; }
  /// `record` and, behind it: start_utc, samples, rate_hz, centre_hz, bandwidth_hz, padding_samples (of VDIF), invalid.
  void finish(nlohmann::ordered_json record);

 private:
  void put(std::span<const std::byte> times);

  VoltageRecordOptions options_;
  core::VoltageDescription description_;
  std::optional<formats::dada::Writer> dada_;
  std::optional<formats::vdif::Writer> vdif_;
  std::uint64_t samples_ = 0;
  struct Invalid {
    std::size_t input;
    std::uint64_t first, samples;
  };
  void note_invalid(const Invalid& span);
  std::vector<Invalid> invalid_;
  std::uint64_t invalid_left_out_ = 0;  // spans, of a recording with more than are kept
  std::vector<std::byte> packed_;
};

}  // namespace tautline::pipeline

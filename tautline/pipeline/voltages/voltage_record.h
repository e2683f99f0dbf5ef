// Writes raw voltages to a DADA or VDIF file, with a record of invalid samples beside it.
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
#include "tautline/pipeline/voltages/invalid_spans.h"

namespace tautline::pipeline {

struct VoltageRecordOptions {
  std::string path;  ///< .dada or .vdif; the record is PATH.json
  bool overwrite = false;
  std::string history;
  std::vector<std::pair<std::string, std::string>> header = {};  ///< further keys of DADA's header
};

/// Throws Error(config) of "path" where the name's ending is of no format.
void require_record_name(const std::string& path);
/// Throws Error(unsupported) for samples that the format cannot represent: a time must fill whole bytes.
void require_recordable(const std::string& path, const core::VoltageDescription& description);
/// Bits of one time, of all channels and inputs.
std::size_t time_bytes_of(const core::VoltageDescription& description);

/// Both files get their names when complete; an object that is destroyed before leaves no files. Every failure is
/// Error(io).
class VoltageRecord {
 public:
  /// `description.start` is that of the first sample.
  VoltageRecord(VoltageRecordOptions options, const core::VoltageDescription& description);

  /// Writes times [first, first + samples) of a block, bit for bit; `invalid` counts from the block's first time.
  void write(std::span<const std::byte> bytes, const core::RawLayout& layout, std::size_t first,
             std::size_t samples, std::span<const core::InvalidSpan> invalid);
  /// Writes missing times, as zeros.
  void fill(std::uint64_t samples);
  std::uint64_t samples() const { return samples_; }
  const std::string& path() const { return options_.path; }
  /// `record`, followed by: start_utc, samples, rate_hz, centre_hz, bandwidth_hz, padding_samples (of VDIF), invalid.
  void finish(nlohmann::ordered_json record);

 private:
  void put(std::span<const std::byte> times);

  VoltageRecordOptions options_;
  core::VoltageDescription description_;
  std::optional<formats::dada::Writer> dada_;
  std::optional<formats::vdif::Writer> vdif_;
  std::uint64_t samples_ = 0;
  InvalidSpans invalid_;
  std::vector<std::byte> packed_;
};

}  // namespace tautline::pipeline

// Raw voltages to a DADA file, with a record beside it that says which samples are invalid.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tautline/core/voltage.h"
#include "tautline/formats/dada/dada.h"

namespace tautline::pipeline {

struct VoltageRecordOptions {
  std::string path;  ///< .dada; the record is PATH.json
  bool overwrite = false;
  std::string history;
  std::vector<std::pair<std::string, std::string>> header = {};  ///< more keys of the file's
};

/// Of samples that fill whole bytes in a time; throws Error(unsupported) of "inputs" for others.
void require_whole_bytes(const core::VoltageDescription& description);
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
  /// `record` and, behind it: start_utc, samples, rate_hz, invalid.
  void finish(nlohmann::ordered_json record);

 private:
  VoltageRecordOptions options_;
  core::VoltageDescription description_;
  formats::dada::Writer file_;
  std::uint64_t samples_ = 0;
  nlohmann::ordered_json invalid_ = nlohmann::ordered_json::array();
  std::vector<std::byte> packed_;
};

}  // namespace tautline::pipeline

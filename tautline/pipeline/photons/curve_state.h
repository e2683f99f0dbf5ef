// Files of a run that is to be taken up again: save_state and resume.
//
// A line that names the format, a line of JSON that says what run it is, the stream's bytes, and a
// checksum of all of these. A state belongs to one version, one kind of device and one problem.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "tautline/pipeline/photons/curve_stream.h"

namespace tautline::pipeline {

/// What must be the same for a state to be taken up, field by field.
using StateProblem = nlohmann::ordered_json;

/// Everything that decides what a stream's bytes mean; the caller adds what its input means.
StateProblem state_problem(const CurveStreamConfig& config, const std::string& backend);

/// What a state's file holds.
std::vector<std::byte> state_bytes(const StateProblem& problem, CurveStream& stream);

/// Writes beside `path` and renames. Throws Error(io).
void write_state(const std::string& path, bool overwrite, std::span<const std::byte> bytes);

class StateFile {
 public:
  /// Reads it. Throws Error(io); Error(format) when it is no state, of another version of the format,
  /// cut short or changed; Error(memory) when it is larger than `most_bytes`.
  StateFile(const std::string& path, std::size_t most_bytes);

  /// The most samples that were pushed at a time, which some devices' states depend on.
  std::size_t block_samples() const;
  /// What the run that saved it said of its input, beside the problem; null: nothing.
  StateProblem input() const;
  /// Throws Error(config) that names the first field that differs.
  void require(const StateProblem& problem) const;
  /// Throws Error(format) when the bytes are not such a stream's.
  void load(CurveStream& stream) const;

 private:
  std::string path_;
  std::vector<std::byte> bytes_;
  std::size_t payload_ = 0, payload_end_ = 0;  // places in bytes_
  StateProblem problem_;
};

}  // namespace tautline::pipeline

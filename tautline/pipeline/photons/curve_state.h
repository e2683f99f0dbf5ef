// Files from which a run resumes: save_state and resume.
//
// A line that names the format, a line of JSON with the configuration of the run, the stream's bytes, and a
// checksum of all of these. A state belongs to one version, one kind of device and one configuration of the stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "tautline/pipeline/photons/count_source_node.h"
#include "tautline/pipeline/photons/curve_stream.h"

namespace tautline::pipeline {

/// The fields that must be equal for a run to resume from a state.
using StateRecord = nlohmann::ordered_json;

/// Everything that determines the meaning of a stream's bytes. `run`: the settings of the run.
StateRecord state_record(const CurveStreamConfig& config, const std::string& backend,
                         const CountStream& input, const AutocorrelateConfig& run);

/// The file, and the place in it that a run has reached with `samples`. Null for live input, which cannot be repeated.
StateRecord input_record(const CountStream& input, std::uint64_t samples);

/// The next part of the same file should begin where that of the state, whose input_record() is `before`, ended:
/// empty, or how this one does not.
std::string resume_warning(const StateRecord& before, const CountStream& input);

/// The bytes of a state's file.
std::vector<std::byte> state_bytes(const StateRecord& record, CurveStream& stream);

/// Writes beside `path` and renames. Throws Error(io).
void write_state(const std::string& path, bool overwrite, std::span<const std::byte> bytes);

class StateFile {
 public:
  /// Reads the file. Throws Error(io); Error(format) when it is no state, of another version of the format, cut short
  /// or changed; Error(memory) when it is larger than `most_bytes`.
  StateFile(const std::string& path, std::size_t most_bytes);

  /// Most samples of one push, on which some devices' states depend.
  std::size_t block_samples() const;
  /// The record of the input, beside the stream's configuration; null: none.
  StateRecord input() const;
  /// Throws Error(config) that names the first field that differs.
  void require(const StateRecord& record) const;
  /// Throws Error(format) when the bytes are not of such a stream.
  void load(CurveStream& stream) const;

 private:
  std::string path_;
  std::vector<std::byte> bytes_;
  std::size_t payload_ = 0, payload_end_ = 0;  // places in bytes_
  StateRecord record_;
};

}  // namespace tautline::pipeline

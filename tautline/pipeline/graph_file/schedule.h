// Observations in a row, as a pipeline file lists them: each is a run of the pipeline with values of its own.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tautline/core/time.h"

namespace tautline::formats {
class TomlTable;
}

namespace tautline::pipeline {

struct Observation {
  std::optional<core::Instant> start = {};    ///< none: when the one before has ended
  std::optional<core::Instant> stop = {};     ///< none: after `duration_s`, or when the sources end
  double duration_s = 0;                      ///< from when it begins; 0: not given
  std::vector<std::string> assignments = {};  ///< NODE.FIELD=VALUE, as GraphFile::set takes them
  std::string place = {};                     ///< for messages

  /// Whether the clock ends it, and not its sources.
  bool is_ended() const { return stop || duration_s > 0; }
};

/// The tables [[observation]] of a file, in order. Throws Error(config) for times that contradict each other.
std::vector<Observation> read_schedule(const formats::TomlTable& file);

}  // namespace tautline::pipeline

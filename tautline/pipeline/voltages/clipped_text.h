// Which inputs the recorder of voltages clipped, or gave one part of, as text and as JSON. What rounding in tautline clips
// is counted apart.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "tautline/stream/recorded_level.h"

namespace tautline::pipeline {

/// "clipped by the recorder: input 1x 2.3 % of its samples, at 127 (noise of its power: 5e-08 %), ..., of those looked
/// at (1 of 16)"; empty where none is.
std::string clipped_text(const stream::RecordedLevels& levels,
                         const std::vector<std::string>& names);
/// "0.012 % of the samples of input 3x at most (1 of 16 looked at)"; empty where samples have no ends, or were not
/// looked at.
std::string at_ends_text(const stream::RecordedLevels& levels,
                         const std::vector<std::string>& names);

/// "the imaginary parts of input 1x never change (looked at: 1 of 16): as where a cable or a converter is dead, which
/// halves the power"; empty where there are none.
std::string still_parts_text(const stream::RecordedLevels& levels,
                             const std::vector<std::string>& names);

/// The shares of [input], 0 to 1, of samples at the ends of their range; empty where they have none.
std::vector<double> at_ends(const stream::RecordedLevels& levels);
/// {part_looked_at, rms, at_ends, at_ends_of_noise (each [input]; null where samples have no ends), clipped_inputs,
/// still_real, still_imaginary (inputs)};
/// null where samples were not looked at.
nlohmann::ordered_json recorded_levels(const stream::RecordedLevels& levels);

}  // namespace tautline::pipeline

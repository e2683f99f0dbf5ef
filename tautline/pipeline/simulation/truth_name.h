// The name of a truth file, and checks before a simulation writes: files that exist, room on the disk.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace tautline::pipeline::simulation {

/// X.truth.json for X and the first of `endings` that `output` ends with; else OUTPUT.truth.json.
std::string truth_name(const std::string& output, std::initializer_list<std::string_view> endings);

/// Throws Error(io) when `output` or its truth exists, unless `overwrite`. Outputs whose names
/// differ only in their ending share a truth: the error names the simulated file of the existing
/// truth.
void refuse_existing(const std::string& truth_path, const std::string& output, bool overwrite);

/// Throws Error(io) when the folder of `output` has less room than `bytes`; does not throw where
/// the room is unknown, or for outputs that are not files (/dev/null).
void require_room(const std::string& output, double bytes);

}  // namespace tautline::pipeline::simulation

// `inspect` of arrays: counts (NPY, TIFF stacks) and the dedispersed series of a NPY file.
#pragma once

#include <optional>
#include <string>

#include "cli/command.h"

namespace tautline::cli {

/// Counts of a NPY array or a TIFF stack: prints them and gives the exit status.
int inspect_counts(const Global& global, const std::string& path, bool strict);

/// The status where the file is a NPY array of counts, or a series with dedisperse's .json beside it.
/// Nothing for other files, arrays of voltages among them.
std::optional<int> inspect_array(const Global& global, const std::string& path, bool strict);

}  // namespace tautline::cli

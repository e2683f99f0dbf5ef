// tautline inspect, for what people and simulate write as text: array.toml, scenes, truths, records.
#pragma once

#include <optional>
#include <string>

#include "cli/command.h"

namespace tautline::cli {

/// A status, or nothing when the file is none of these by the ending of its name (.toml, .json).
std::optional<int> inspect_text(const Global& global, const std::string& path);

}  // namespace tautline::cli

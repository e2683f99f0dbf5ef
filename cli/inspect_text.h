// tautline inspect, for what people and simulate write as text: array.toml, scenes, truths, records.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/command.h"

namespace tautline::cli {

/// A status, or nothing when the file is none of these by the ending of its name (.toml, .json).
std::optional<int> inspect_text(const Global& global, const std::string& path);

/// A line of what a file says of where it comes from, without what it leaves empty.
void print_origin(const std::vector<std::pair<std::string, std::string>>& facts);

}  // namespace tautline::cli

// Where a run's time went, as --profile and --json say it.
#pragma once

#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "tautline/engine/profile.h"

namespace tautline::cli {

/// Adds `profile`, `bound_by` and `efficiency` to a summary of version 1.
void add_profile(nlohmann::ordered_json& summary, const engine::Profile& profile);

/// With --profile the table, on standard error.
void print_profile(const Global& global, const engine::Profile& profile);

}  // namespace tautline::cli

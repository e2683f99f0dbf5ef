// The name that a misspelt one means.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tautline::core {

/// The name in `names` that takes the fewest changes of a letter to reach from `word`; empty when all take more than a
/// third of its letters (two at least), or half of them or more (more than one), unless `word` is the begin of one name
/// alone.
std::string nearest_name(std::string_view word, const std::vector<std::string>& names);

/// "did you mean NAME" of the nearest; empty: no name is near.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& names);

}  // namespace tautline::core

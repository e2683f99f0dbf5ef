// The folders of compiled programs and of wisdom.
#pragma once

#include <filesystem>

namespace tautline::jit {

/// TAUTLINE_CACHE, else $XDG_CACHE_HOME/tautline, else ~/.cache/tautline; empty when none of these
/// variables is set. Need not exist. May be deleted at any time.
std::filesystem::path cache_folder();

/// TAUTLINE_CACHE, else $XDG_DATA_HOME/tautline, else ~/.local/share/tautline; empty as above.
/// Holds results that took long to find.
std::filesystem::path data_folder();

}  // namespace tautline::jit

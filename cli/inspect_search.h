// `inspect` of the files of pulse searches: filterbanks and series, masks, candidates.
#pragma once

#include <string>

#include "cli/command.h"

namespace tautline::cli {

/// Whether `inspect_search` knows the file, by its first bytes and its name.
bool is_search_file(const std::string& path);

/// Prints what it holds and gives the exit status.
int inspect_search(const Global& global, const std::string& path, bool strict);

/// The same of a folder of series, one trial in each file.
int inspect_series_folder(const Global& global, const std::string& path, bool strict);

}  // namespace tautline::cli

// Names of outputs that promise another kind of file than the command writes.
#pragma once

#include <string>
#include <vector>

namespace tautline::cli {

/// Throws Error(config) where `path` is a folder, or ends as files of another kind do: ".uvh5" where
/// `endings` are those of voltages. Names without a known ending are the user's own. An empty path: no
/// such output.
void require_own_ending(const std::string& option, const std::string& path,
                        const std::vector<std::string>& endings);

/// The same for a folder's name, which may not end as a file's. `endings`: of the files that might be meant instead.
void require_folder_name(const std::string& option, const std::string& path,
                         const std::vector<std::string>& endings);

}  // namespace tautline::cli

// The outputs of a run must differ from its inputs and from each other: an output that replaces an input destroys it.
#pragma once

#include <string>
#include <vector>

namespace tautline::formats {

/// A file and where its name comes from ("output", "array_path"; an option of a command). One without a path is left
/// out of account.
struct NamedFile {
  std::string option, path;
};

/// The same option for each of `paths`.
std::vector<NamedFile> name_files(const std::string& option, const std::vector<std::string>& paths);

/// Throws Error(config), naming both, when an output or the partial name it is first written under
/// (PartialPath) is an input or another output, or holds one as a folder (a Measurement Set).
/// Files that exist are compared as the file system does, through links; others by their
/// normalised names.
void require_distinct(const std::vector<NamedFile>& outputs, const std::vector<NamedFile>& inputs);

}  // namespace tautline::formats

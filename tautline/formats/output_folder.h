// A folder that outputs are written into, made where it is not there.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace tautline::formats {

/// Makes the folder and the missing folders above it. The destructor removes the folders that it made, where they are
/// empty: a run that is refused or stopped leaves none behind. The object has to outlive the unfinished files in the
/// folder.
class OutputFolder {
 public:
  /// Throws Error(io) with `field` (an option, or what the folder is for) when `path` is a file's
  /// name or the folder cannot be made.
  OutputFolder(const std::string& field, std::string path);
  ~OutputFolder();
  OutputFolder(const OutputFolder&) = delete;
  OutputFolder& operator=(const OutputFolder&) = delete;

  const std::string& path() const { return path_; }
  /// Until it is destroyed or the process ends: throws Error(io) where another run has locked the folder. Where the
  /// file system has no locks, nothing happens.
  void lock();

 private:
  std::string path_;
  int locked_ = -1;                          // a descriptor
  std::vector<std::filesystem::path> made_;  // outer folders first
};

}  // namespace tautline::formats

// The results of a search, written one by one, so that a stopped search can be continued.
#pragma once

#include <cstddef>
#include <filesystem>
#include <vector>

#include "tautline/jit/result.h"
#include "tautline/jit/tunable.h"

namespace tautline::jit {

/// A file of JSON lines: first the key and the space of the search, then a result a line.
class ResultLog {
 public:
  /// Reads the results that an earlier search of the same key and space left at `path`; a file of
  /// another search is renamed to PATH.old. Throws Error(io).
  ResultLog(std::filesystem::path path, const TuningKey& key, const Space& space);

  const std::vector<Result>& earlier() const { return earlier_; }
  std::size_t damaged_lines() const { return damaged_lines_; }
  const std::filesystem::path& path() const { return path_; }
  void append(const Result& result) const;

 private:
  std::filesystem::path path_;
  std::vector<Result> earlier_;
  std::size_t damaged_lines_ = 0;
};

/// The file for the results of this key when no folder is named: under cache_folder(). Empty when
/// there is no such folder.
std::filesystem::path result_log_path(const TuningKey& key);

}  // namespace tautline::jit

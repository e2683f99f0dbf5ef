// The results of a search as they come, so that a search that was stopped goes on.
#pragma once

#include <cstddef>
#include <filesystem>
#include <vector>

#include "tautline/jit/result.h"
#include "tautline/jit/tunable.h"

namespace tautline::jit {

/// A file of JSON lines: what was searched (key and space), then a result a line.
class ResultLog {
 public:
  /// Reads what an earlier search of the same key and space left at `path`; a file of another one
  /// is renamed to PATH.old. Throws Error(io).
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

/// Where the results of this key are kept when nobody names a folder: under cache_folder(). Empty
/// when there is none.
std::filesystem::path result_log_path(const TuningKey& key);

}  // namespace tautline::jit

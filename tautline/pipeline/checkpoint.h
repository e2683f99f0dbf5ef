// How far a run of files has come, in a file, so that a run that was interrupted or killed goes on
// (docs/design/checkpoint.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "tautline/core/time.h"

namespace tautline::pipeline {

/// A sample of a stream, by the segment that it is of.
struct StreamPlace {
  core::Instant segment_start;
  std::uint64_t sample = 0;  ///< since the segment's start

  friend bool operator==(const StreamPlace&, const StreamPlace&) = default;
};

/// Of a run with one output of numbered files. Not thread-safe: before the run its maker's, then the output's.
class Checkpoint {
 public:
  /// Reads the file, if there is one. Throws Error(format) for a file that is no checkpoint, or damaged, and
  /// Error(config) for a name that cannot be written.
  explicit Checkpoint(std::string path);

  const std::string& path() const { return path_; }
  /// What the run is and reads, by name ("f.channels"); before anything else is asked. Throws Error(config) that names
  /// the first difference where the run that has finished files was another one.
  void require_same(const std::map<std::string, std::string>& facts);
  /// Whether a run before this one has written the file.
  bool goes_on() const { return goes_on_; }
  /// Whether it gave everything that there is.
  bool over() const { return over_; }
  /// How many files it finished, and with what the next one begins; none: with the first sample.
  std::size_t files() const { return files_; }
  const std::optional<StreamPlace>& next() const { return next_; }

  /// Writes the file: whole, or not at all. Throws Error(io).
  void save() const;
  /// `file` has its name and is the last of so many; `next`: with what the next one begins, none: it was the last one.
  /// Saves.
  void finished(const std::string& file, std::size_t files, const std::optional<StreamPlace>& next);

 private:
  void read();

  std::string path_;
  std::map<std::string, std::string> facts_;
  bool goes_on_ = false, over_ = false;
  std::size_t files_ = 0;
  std::optional<StreamPlace> next_;
};

}  // namespace tautline::pipeline

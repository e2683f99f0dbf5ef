// A file written front to back that is open only while something is written: a folder of thousands
// of dedispersed series would need more descriptors than a process has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "tautline/formats/partial_file.h"

namespace tautline::formats {

/// Written as PATH.partial and renamed on finish(). Every failure is Error(io) with the path and
/// the system's reason.
class AppendFile {
 public:
  /// Makes the empty file.
  AppendFile(std::string path, bool overwrite);

  /// Appends at once: give it large pieces.
  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);
  const std::string& path() const { return name_.path(); }
  std::uint64_t written_bytes() const { return written_bytes_; }
  void finish() { name_.finish(); }

 private:
  void append(std::span<const std::byte> bytes, int flags);

  PartialPath name_;
  std::uint64_t written_bytes_ = 0;
};

}  // namespace tautline::formats

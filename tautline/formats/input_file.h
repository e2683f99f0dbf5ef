// A file opened for reading at any offset, or a stream read as one, and how faults are reported.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tautline/core/error.h"
#include "tautline/formats/forward_bytes.h"

namespace tautline::formats {

/// Owns a descriptor. Reads do not move a position, so that a reader may look ahead freely.
class InputFile {
 public:
  enum class IfEmpty { refused, taken };  ///< lists of candidates and raw counts may hold none
  /// Throws Error(io) when the system refuses, Error(format) when it is no regular file, a picture, or empty.
  explicit InputFile(std::string path, IfEmpty empty = IfEmpty::refused);
  /// Bytes that arrive in order: a read waits for bytes ahead, and can go back as far as forget() allows.
  explicit InputFile(std::shared_ptr<ForwardBytes> bytes);
  ~InputFile();
  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&&) = delete;

  const std::string& path() const { return path_; }
  /// The size when the file was opened; of bytes that come in order ForwardBytes::size().
  std::uint64_t size() const { return in_order() ? forward_->size() : size_; }
  /// Whether bytes arrive in order, so that forgotten bytes cannot be read again.
  bool in_order() const { return forward_ != nullptr; }
  /// Bytes before `offset` will not be read again.
  void forget(std::uint64_t offset) const {
    if (in_order()) forward_->forget(offset);
  }
  /// One behind the last byte that may be read before more is forgotten.
  std::uint64_t reach() const { return in_order() ? forward_->reach() : UINT64_MAX; }
  /// Fills `bytes` from `offset` on; fewer only at the end of the file. Long reads are divided among several threads
  /// (core/threads.h): one copies 3 to 5 GB/s from the page cache. Throws Error(io).
  std::size_t read(std::uint64_t offset, std::span<std::byte> bytes) const;
  /// The same for bytes that the file had when it was opened: throws Error(io) where it has become shorter.
  void read_whole(std::uint64_t offset, std::span<std::byte> bytes) const;
  /// The first bytes, at most `limit_bytes` of them.
  std::vector<std::byte> head(std::size_t limit_bytes) const;
  /// Tells the system that the file is read from front to back.
  void sequential() const;
  /// Tells the system that these bytes will be read soon.
  void will_need(std::uint64_t offset, std::uint64_t bytes) const;

 private:
  void refuse_contents(IfEmpty empty) const;
  std::size_t read_piece(std::uint64_t offset, std::span<std::byte> bytes) const;
  std::size_t read_past_caches(std::uint64_t offset, std::span<std::byte> bytes) const;

  std::string path_;
  std::shared_ptr<ForwardBytes> forward_;  // null: a file
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
};

/// Error(io) with the system's words for an errno.
core::Error system_error(const std::string& path, const std::string& what, int code,
                         std::string advice = "check the name and the permissions");
/// Error(format) that reads "FILE: what: FOUND, expected EXPECTED; ADVICE".
core::Error format_error(const std::string& path, const std::string& what, std::string found,
                         std::string expected, std::string advice = {});

}  // namespace tautline::formats

// Bytes that come once, from front to back: standard input, a named pipe, a device.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace tautline::formats {

/// Whether a path names a stream and no file: "-" (standard input), a named pipe, a character device.
bool is_stream(const std::string& path);

/// Not thread-safe.
class InputStream {
 public:
  /// Throws Error(io) when the system refuses. A named pipe needs no writer yet.
  explicit InputStream(const std::string& path);
  ~InputStream();
  InputStream(const InputStream&) = delete;
  InputStream& operator=(const InputStream&) = delete;

  /// The name in messages.
  const std::string& name() const { return name_; }
  /// Copies the bytes that have arrived to the front of `bytes`, waiting for them at most `wait`, and returns their
  /// number: 0 when none came, or at the end. Throws Error(io).
  std::size_t read(std::span<std::byte> bytes, std::chrono::milliseconds wait);
  /// Whether the writer has closed the stream.
  bool ended() const { return ended_; }
  /// Bytes that have arrived and were not read yet, as far as the system knows.
  std::uint64_t waiting_bytes() const;

 private:
  std::string name_;
  int descriptor_ = -1;
  bool owned_ = false, ended_ = false;
  std::uint64_t read_bytes_ = 0;
};

}  // namespace tautline::formats

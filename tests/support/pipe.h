// Bytes into a pipe that a test holds open.
#pragma once

#include <unistd.h>

#include <string_view>

namespace tautline::tests {

/// Until all are written, or nobody reads the pipe any more (with SIGPIPE ignored): then false.
inline bool put(int pipe, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(pipe, bytes.data(), bytes.size());
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace tautline::tests

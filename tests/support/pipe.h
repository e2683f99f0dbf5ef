// Bytes into a pipe that a test holds open.
#pragma once

#include <sys/ioctl.h>
#include <unistd.h>

#include <chrono>
#include <string_view>
#include <thread>

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

/// Until somebody has read all that lies in it, or a minute has passed.
inline void wait_until_read(int pipe) {
  int left = 0;
  for (int wait = 0; wait < 60'000 && ioctl(pipe, FIONREAD, &left) == 0 && left > 0; ++wait)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

}  // namespace tautline::tests

#include "tautline/formats/input_stream.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "tautline/formats/input_file.h"

namespace tautline::formats {

namespace {

// The size of a pipe's buffer, by which the writer may be ahead. The system's default of 64 KiB is a tenth of a
// millisecond of a fast array.
constexpr int kPipeBytes = 1 << 20;

[[noreturn]] void fail_stream(const std::string& name, const std::string& what, int code) {
  throw system_error(name, what, code, "check the name, the permissions and what writes it");
}

}  // namespace

bool is_stream(const std::string& path) {
  struct stat status {};
  return path == "-" || (::stat(path.c_str(), &status) == 0 &&
                         (S_ISFIFO(status.st_mode) || S_ISCHR(status.st_mode)));
}

InputStream::InputStream(const std::string& path) {
  if (path == "-") {
    name_ = "standard input";
    descriptor_ = STDIN_FILENO;
    struct stat status {};
    if (::fstat(descriptor_, &status) != 0) fail_stream(name_, "cannot be read", errno);
    if (::isatty(descriptor_) == 1)
      throw core::Error(core::ErrorKind::config, name_, "a terminal", "a pipe or a redirected file",
                        "write PROGRAM | tautline ..., or give a file's name");
  } else {
    name_ = path;
    // Without O_NONBLOCK, opening a named pipe would wait for its writer and hear no Ctrl-C.
    descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (descriptor_ < 0) fail_stream(name_, "cannot be opened", errno);
    owned_ = true;
  }
  (void)::fcntl(descriptor_, F_SETPIPE_SZ, kPipeBytes);
}

InputStream::~InputStream() {
  if (owned_) ::close(descriptor_);
}

// Reads only what poll() has seen: then a descriptor in blocking mode, which others may share, does
// not block either, and a named pipe that nobody has opened for writing yet is not taken for ended.
std::size_t InputStream::read(std::span<std::byte> bytes, std::chrono::milliseconds wait) {
  if (ended_ || bytes.empty()) return 0;
  pollfd seen{descriptor_, POLLIN, 0};
  const int ready = ::poll(&seen, 1, static_cast<int>(wait.count()));
  if (ready == 0 || (ready < 0 && errno == EINTR)) return 0;
  if (ready < 0) fail_stream(name_, "cannot be waited for", errno);
  const ssize_t got = ::read(descriptor_, bytes.data(), bytes.size());
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return 0;
  if (got < 0) fail_stream(name_, "cannot be read at byte " + std::to_string(read_bytes_), errno);
  ended_ = got == 0;
  read_bytes_ += static_cast<std::uint64_t>(got);
  return static_cast<std::size_t>(got);
}

std::uint64_t InputStream::waiting_bytes() const {
  int waiting = 0;
  if (ended_ || ::ioctl(descriptor_, FIONREAD, &waiting) != 0 || waiting < 0) return 0;
  return static_cast<std::uint64_t>(waiting);
}

}  // namespace tautline::formats

#include "tautline/jit/line_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <system_error>

#include "tautline/core/error.h"

namespace tautline::jit {

namespace {

[[noreturn]] void fail(const std::filesystem::path& path, const std::string& what, int error) {
  throw core::Error(core::ErrorKind::io, path.string() + ": " + what,
                    std::generic_category().message(error), {},
                    "TAUTLINE_CACHE can name a folder that may be written");
}

struct Descriptor {
  int value;
  ~Descriptor() { ::close(value); }
};

bool ends_in_the_middle_of_a_line(int descriptor) {
  const off_t size = ::lseek(descriptor, 0, SEEK_END);
  char last = '\n';
  return size > 0 && ::pread(descriptor, &last, 1, size - 1) == 1 && last != '\n';
}

}  // namespace

void append_line(const std::filesystem::path& path, const std::string& line) {
  std::error_code error;
  if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path(), error);
  if (error) fail(path, "making its folder", error.value());
  const Descriptor file{::open(path.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0666)};
  if (file.value < 0) fail(path, "opening", errno);
  // Network file systems may have no locks; then the single write keeps lines whole.
  while (::flock(file.value, LOCK_EX) != 0 && errno == EINTR) {
  }
  const std::string bytes = (ends_in_the_middle_of_a_line(file.value) ? "\n" : "") + line + "\n";
  ssize_t done = 0;
  do {
    done = ::write(file.value, bytes.data(), bytes.size());
  } while (done < 0 && errno == EINTR);
  if (done != static_cast<ssize_t>(bytes.size())) fail(path, "writing", done < 0 ? errno : ENOSPC);
}

std::vector<std::string> read_lines(const std::filesystem::path& path) {
  std::vector<std::string> lines;
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return lines;
  std::ifstream file(path);
  if (!file) fail(path, "opening", errno);
  for (std::string line; std::getline(file, line);)
    if (!line.empty()) lines.push_back(std::move(line));
  return lines;
}

}  // namespace tautline::jit

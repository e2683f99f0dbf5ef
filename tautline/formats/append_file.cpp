#include "tautline/formats/append_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "tautline/core/error.h"

namespace tautline::formats {

namespace {

core::Error failed(const std::string& path, const std::string& what, int code) {
  return {core::ErrorKind::io, path + ": " + what, std::generic_category().message(code), "",
          code == ENOSPC || code == EDQUOT
              ? "make room and run again; nothing was left under the final name"
              : "check the folder and its permissions"};
}

}  // namespace

AppendFile::AppendFile(std::string path, bool overwrite) : name_(std::move(path), overwrite) {
  append({}, O_CREAT | O_EXCL);
}

void AppendFile::write(std::span<const std::byte> bytes) {
  if (!bytes.empty()) append(bytes, 0);
}

void AppendFile::write(std::string_view text) {
  write(std::as_bytes(std::span(text.data(), text.size())));
}

void AppendFile::append(std::span<const std::byte> bytes, int flags) {
  const int descriptor =
      ::open(name_.partial().c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | flags, 0666);
  if (descriptor < 0) throw failed(name_.path(), "opening " + name_.partial(), errno);
  int code = 0;
  while (!bytes.empty() && code == 0) {
    const ssize_t done = ::write(descriptor, bytes.data(), bytes.size());
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) {
      code = done < 0 ? errno : ENOSPC;
    } else {
      written_bytes_ += static_cast<std::uint64_t>(done);
      bytes = bytes.subspan(static_cast<std::size_t>(done));
    }
  }
  // Network file systems report a full disk only on closing.
  if (::close(descriptor) != 0 && code == 0) code = errno;
  if (code != 0)
    throw failed(name_.path(), "writing at byte " + std::to_string(written_bytes_), code);
}

}  // namespace tautline::formats

#include "tautline/formats/input_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <system_error>
#include <utility>

#include "tautline/core/copy_past_caches.h"
#include "tautline/core/threads.h"
#include "tautline/formats/seeming_kind.h"

namespace tautline::formats {

namespace {

// Reading a piece of this length takes far longer than handing it to another thread. At the end of each block threads
// wait for the last piece: with pieces of 2 MiB `correlate` on a GPU took 27.9 GB/s instead of 33.2.
constexpr std::size_t kPiece = std::size_t{512} << 10;

// A missing file may be a word that is no name of a file.
[[noreturn]] void refuse_to_open(const std::string& path, int code) {
  if (code == ENOENT && path == "-")
    throw core::Error(
        core::ErrorKind::io, path, "standard input", "the name of a file",
        "the commands correlate, channelize, dedisperse, search, autocorrelate, fit, compare, "
        "report, inspect and plot read from -");
  if (code == ENOENT && path.find("://") != std::string::npos)
    throw core::Error(core::ErrorKind::io, path, "a network address", "the name of a file",
                      path.starts_with("udp:")
                          ? "tautline run takes packets live, by its node packets"
                          : "tautline run takes MWA receivers live, by its node receivers; other "
                            "streams come by a pipe, with - for the input");
  throw system_error(
      path, "cannot be opened", code,
      code == ENOENT || code == ENOTDIR ? "check the name" : "check the permissions");
}

}  // namespace

InputFile::InputFile(std::string path, IfEmpty empty) : path_(std::move(path)) {
  // Without O_NONBLOCK, opening a named pipe would wait for a writer; files are not affected.
  descriptor_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor_ < 0) refuse_to_open(path_, errno);
  struct stat status {};
  const bool known = ::fstat(descriptor_, &status) == 0;
  const int code = errno;
  if (known && S_ISREG(status.st_mode)) {
    size_ = static_cast<std::uint64_t>(status.st_size);
    try {
      refuse_contents(empty);
    } catch (...) {
      ::close(descriptor_);
      throw;
    }
    return;
  }
  ::close(descriptor_);
  if (!known) throw system_error(path_, "has no size", code);
  if (S_ISDIR(status.st_mode))
    throw other_kind(path_, "a file", "give the name of a recorded file");
  throw format_error(path_, "not a regular file", "a pipe or device", "a file",
                     "give the name of a recorded file");
}

// Headers of many formats prove little: any bytes would be taken for samples.
void InputFile::refuse_contents(IfEmpty empty) const {
  if (size_ == 0 && empty == IfEmpty::refused)
    throw core::Error(core::ErrorKind::format, path_, "an empty file", "data",
                      "check that the file was written completely");
  const std::string picture = picture_kind_of(head(kPictureBytes));
  if (!picture.empty())
    throw core::Error(core::ErrorKind::format, path_ + ": kind of file", picture, "data",
                      "check the name");
}

InputFile::InputFile(std::shared_ptr<ForwardBytes> bytes)
    : path_(bytes->name()), forward_(std::move(bytes)) {}

InputFile::~InputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

InputFile::InputFile(InputFile&& other) noexcept
    : path_(std::move(other.path_)),
      forward_(std::move(other.forward_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      size_(other.size_) {}

std::size_t InputFile::read(std::uint64_t offset, std::span<std::byte> bytes) const {
  if (in_order()) return forward_->read(offset, bytes);
  // Blocks of this length do not stay in the caches until they are used.
  constexpr std::size_t kLong = std::size_t{32} << 20;
  std::atomic<std::size_t> done = bytes.size();
  core::in_pieces(
      bytes.size(), bytes.size() / kPiece, [&](std::size_t, std::size_t first, std::size_t last) {
        const auto piece = bytes.subspan(first, last - first);
        const std::size_t got = bytes.size() >= kLong ? read_past_caches(offset + first, piece)
                                                      : read_piece(offset + first, piece);
        // The earliest end counts: the file may grow meanwhile.
        for (std::size_t end = done; got < piece.size() && first + got < end;)
          if (done.compare_exchange_weak(end, first + got)) break;
      });
  return done;
}

void InputFile::read_whole(std::uint64_t offset, std::span<std::byte> bytes) const {
  if (read(offset, bytes) < bytes.size())
    throw core::Error(core::ErrorKind::io, path_, "ended while it was read",
                      std::to_string(offset + bytes.size()) + " bytes as when it was opened");
}

// Reads into memory that stays in the core's cache and copies from there past the caches: pread into `bytes` would
// fetch each line of `bytes` before it overwrites the line.
std::size_t InputFile::read_past_caches(std::uint64_t offset, std::span<std::byte> bytes) const {
  constexpr std::size_t kNear = std::size_t{256} << 10;
  thread_local std::vector<std::byte> near;
  near.resize(kNear);
  std::size_t done = 0;
  while (done < bytes.size()) {
    const auto part = std::span(near).first(std::min(kNear, bytes.size() - done));
    const std::size_t got = read_piece(offset + done, part);
    core::copy_past_caches(bytes.data() + done, part.data(), got);
    done += got;
    if (got < part.size()) break;
  }
  return done;
}

std::size_t InputFile::read_piece(std::uint64_t offset, std::span<std::byte> bytes) const {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got = ::pread(descriptor_, bytes.data() + done, bytes.size() - done,
                                static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0)
      throw system_error(path_, "cannot be read at byte " + std::to_string(offset + done), errno);
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

std::vector<std::byte> InputFile::head(std::size_t limit_bytes) const {
  std::vector<std::byte> bytes(
      static_cast<std::size_t>(std::min<std::uint64_t>(limit_bytes, size())));
  bytes.resize(read(0, bytes));
  return bytes;
}

void InputFile::sequential() const {
  if (in_order()) return;
  (void)::posix_fadvise(descriptor_, 0, 0, POSIX_FADV_SEQUENTIAL);
}

void InputFile::will_need(std::uint64_t offset, std::uint64_t bytes) const {
  if (in_order()) return;
  (void)::posix_fadvise(descriptor_, static_cast<off_t>(offset), static_cast<off_t>(bytes),
                        POSIX_FADV_WILLNEED);
}

core::Error system_error(const std::string& path, const std::string& what, int code,
                         std::string advice) {
  return {core::ErrorKind::io, path + ": " + what, std::system_category().message(code), "",
          std::move(advice)};
}

core::Error format_error(const std::string& path, const std::string& what, std::string found,
                         std::string expected, std::string advice) {
  return {core::ErrorKind::format, path + ": " + what, std::move(found), std::move(expected),
          std::move(advice)};
}

}  // namespace tautline::formats

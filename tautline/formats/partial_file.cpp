#include "tautline/formats/partial_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "tautline/core/error.h"
#include "tautline/formats/space_ahead.h"

namespace tautline::formats {

namespace {

// Pieces smaller than this are gathered before they are written.
constexpr std::size_t kPendingBytes = std::size_t{1} << 20;
// Bytes after which the disk is asked to begin writing.
constexpr std::uint64_t kFlushedBytes = std::uint64_t{32} << 20;
constexpr const char* kCheckFolder = "check the folder and its permissions";

// Partial names and folders of the files that this process writes.
struct PartialNames {
  std::mutex mutex;
  std::multiset<std::string> names;
  std::vector<void (*)()> others;
  std::vector<std::string> folders;  // outer folders first
  std::set<std::string> growing;
};

PartialNames& partial_names() {
  static auto& names = *new PartialNames;  // outlives whatever the end of the program destroys
  return names;
}

[[noreturn]] void fail(const std::string& path, const std::string& what, int error,
                       const std::string& advice = {}) {
  const std::string reason = std::generic_category().message(error);
  throw core::Error(core::ErrorKind::io, path + ": " + what, reason, {},
                    error == ENOSPC || error == EDQUOT || error == EFBIG
                        ? "make room and run again; nothing was left under the final name"
                        : advice);
}

[[noreturn]] void refuse_shared(const std::string& path) {
  throw core::Error(core::ErrorKind::io, path + ": output", "another run writes it",
                    "a name that no other run has",
                    "give another name, or wait until that run has ended");
}

// Whether another run has locked the file there.
bool is_locked(const std::string& partial) {
  int descriptor = ::open(partial.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0)  // a folder
    descriptor = ::open(partial.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return false;
  const bool locked = ::flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  ::close(descriptor);
  return locked;
}

// Whether the name still is that of the open file.
bool names(const std::string& partial, int descriptor) {
  struct stat of_name {
  }, of_file{};
  return ::stat(partial.c_str(), &of_name) == 0 && ::fstat(descriptor, &of_file) == 0 &&
         of_name.st_dev == of_file.st_dev && of_name.st_ino == of_file.st_ino;
}

// rename() replaces files but not folders with contents. A folder is replaced only by a folder, and only when it is a
// table (a Measurement Set): a mistaken `overwrite` must not delete a home folder.
bool is_folder_to_keep(const std::string& path, bool by_a_file) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored) &&
         (by_a_file || !std::filesystem::exists(path + "/table.dat", ignored));
}

void refuse_folder(const std::string& path, bool by_a_file) {
  if (is_folder_to_keep(path, by_a_file))
    throw core::Error(core::ErrorKind::io, path + ": output", "it is a folder",
                      "the name of a file: folders are not replaced", "give another name");
}

// A result that is renamed when it is complete would take the place of a device or a pipe.
void refuse_device(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0 || S_ISREG(status.st_mode) || S_ISDIR(status.st_mode))
    return;
  const std::string kind = S_ISFIFO(status.st_mode)   ? "a pipe"
                           : S_ISSOCK(status.st_mode) ? "a socket"
                                                      : "a device";
  throw core::Error(core::ErrorKind::io, path + ": output", "it is " + kind,
                    "the name of a file: results are written to files alone", "give another name");
}

void make_way(const std::string& partial, const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) return;
  refuse_folder(path, !std::filesystem::is_directory(partial, error));
  std::filesystem::remove_all(path, error);
  if (error) fail(path, "removing the folder to be replaced", error.value());
}

// Renames without ever replacing a file that appeared meanwhile, where the file system can tell.
void rename_to(const std::string& partial, const std::string& path, bool overwrite) {
  if (!overwrite) {
    if (::renameat2(AT_FDCWD, partial.c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE) == 0)
      return;
    if (errno != EINVAL && errno != ENOSYS)
      fail(path, "renaming the finished " + partial, errno, "give another name");
    refuse_existing(path, overwrite);
  }
  if (overwrite) make_way(partial, path);
  if (::rename(partial.c_str(), path.c_str()) != 0)
    fail(path, "renaming the finished " + partial, errno);
}

}  // namespace

std::string temporary_folder() {
  std::error_code failed;
  const auto folder = std::filesystem::temp_directory_path(failed);
  if (!failed) return folder.string();
  const char* named = std::getenv("TMPDIR");
  const std::string value = named == nullptr ? "not set, and /tmp is no folder"
                            : *named == '\0' ? "empty"
                                             : std::string(named) + ", not a folder";
  throw core::Error(core::ErrorKind::io, "TMPDIR", value, "a folder for temporary files",
                    "let it name one with room for them, or unset it to use /tmp");
}

void remove_file(const std::string& path) noexcept {
  std::error_code ignored;
  std::filesystem::remove(path, ignored);
}

void flush_to_disk(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) fail(path, "opening to flush", errno);
  const int result = ::fsync(descriptor);
  const int error = errno;
  ::close(descriptor);
  // Some file systems cannot flush a folder and say EINVAL; that is not a failed write.
  if (result != 0 && error != EINVAL) fail(path, "flushing to the disk", error);
}

void refuse_existing(const std::string& path, bool overwrite) {
  // In other programs this is the name of standard output; a file of this name would be mistaken for it.
  if (path == "-")
    throw core::Error(core::ErrorKind::config, "output", "-",
                      "the name of a file: results are not written to standard output",
                      "./- names a file that is called so");
  refuse_device(path);
  struct stat status {};
  if (!overwrite && ::lstat(path.c_str(), &status) == 0)
    throw core::Error(core::ErrorKind::io, path + ": output", "it exists", "a new name",
                      "give `overwrite` or another name");
}

void remove_partial_files() {
  PartialNames& names = partial_names();
  names.mutex.lock();  // and never unlocked
  // Twice: a thread may have been about to create its file. By another name, under which no thread adds to a folder;
  // what threads were about to add is gone after a try or two.
  constexpr int kMostTries = 1000;
  for (int time = 0; time < 2; ++time)
    for (const std::string& name : names.names) {
      const std::string unknown = partial_name(name);
      const bool renamed = ::rename(name.c_str(), unknown.c_str()) == 0;
      std::error_code error;
      int tries = 0;
      do {
        std::filesystem::remove_all(renamed ? unknown : name, error);
      } while (error && ++tries < kMostTries);
    }
  for (const std::string& name : names.growing) {
    struct stat status {};
    if (::stat(name.c_str(), &status) == 0 && S_ISREG(status.st_mode) && status.st_size == 0)
      ::unlink(name.c_str());
  }
  for (const auto& remove : names.others) remove();
  for (auto folder = names.folders.rbegin(); folder != names.folders.rend(); ++folder)
    ::rmdir(folder->c_str());  // only an empty folder
}

void note_made_folder(const std::string& path) {
  const std::lock_guard lock(partial_names().mutex);
  partial_names().folders.push_back(path);
}

void forget_made_folder(const std::string& path) {
  const std::lock_guard lock(partial_names().mutex);
  auto& folders = partial_names().folders;
  if (const auto at = std::find(folders.begin(), folders.end(), path); at != folders.end())
    folders.erase(at);
}

void note_growing_file(const std::string& path) {
  const std::lock_guard lock(partial_names().mutex);
  partial_names().growing.insert(path);
}

void forget_growing_file(const std::string& path) {
  const std::lock_guard lock(partial_names().mutex);
  partial_names().growing.erase(path);
}

void also_remove_partial_files_of(void (*remove)()) {
  const std::lock_guard lock(partial_names().mutex);
  partial_names().others.push_back(remove);
}

void require_can_be_written(const std::string& field, const std::string& path, bool overwrite) {
  namespace fs = std::filesystem;
  const auto refuse = [&](const std::string& value, const char* expected, const char* advice) {
    throw core::Error(core::ErrorKind::config, field, value, expected, advice);
  };
  if (path.empty()) refuse("not given", "the name of a file", "");
  fs::path name = path;
  if (!name.has_filename()) name = name.parent_path();  // a slash at the end
  struct stat status {};
  if (!overwrite && ::lstat(name.c_str(), &status) == 0)
    throw core::Error(core::ErrorKind::io, field, path + ": it exists", "a new name",
                      "give `overwrite` or another name");
  refuse_folder(name.string(), false);
  const fs::path folder = name.has_parent_path() ? name.parent_path() : fs::path(".");
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored))
    refuse(path, "a name in a folder that is there", "make the folder, or give another name");
  if (::access(folder.c_str(), W_OK | X_OK) != 0)
    refuse(path, "a name in a folder that may be written", kCheckFolder);
}

std::string partial_name(const std::string& path) {
  return path + ".partial";
}

bool is_being_written(const std::string& path) {
  return is_locked(partial_name(path));
}

PartialPath::PartialPath(std::string path, bool overwrite, Makes makes)
    : path_(std::move(path)), partial_(partial_name(path_)), overwrite_(overwrite) {
  if (path_.empty())
    throw core::Error(core::ErrorKind::config, "output", "no name", "the name of a file");
  refuse_existing(path_, overwrite_);
  refuse_folder(path_, makes == Makes::file);
  if (is_locked(partial_)) refuse_shared(path_);
  std::error_code error;
  std::filesystem::remove_all(partial_, error);
  if (error) fail(partial_, "removing what an earlier run left", error.value());
  const std::lock_guard lock(partial_names().mutex);
  partial_names().names.insert(partial_);
}

PartialPath::~PartialPath() {
  std::error_code ignored;
  if (!finished_) std::filesystem::remove_all(partial_, ignored);
  if (locked_ >= 0) ::close(locked_);
  forget();
}

void PartialPath::refuse_taken() {
  finished_ = true;
  refuse_shared(path_);
}

void PartialPath::lock(int descriptor) {
  if (descriptor < 0)
    descriptor = locked_ = ::open(partial_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return;
  if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) refuse_taken();
}

void PartialPath::forget() {
  const std::lock_guard lock(partial_names().mutex);
  auto& names = partial_names().names;
  if (const auto name = names.find(partial_); name != names.end()) names.erase(name);
}

void PartialPath::finish() {
  if (locked_ >= 0 && !names(partial_, locked_)) refuse_taken();
  flush_to_disk(partial_);
  // Who opens the file as soon as it has its name may ask for a shared lock, as HDF5 does.
  if (locked_ >= 0) ::flock(locked_, LOCK_SH);
  rename_to(partial_, path_, overwrite_);
  finished_ = true;
  if (locked_ >= 0) ::close(std::exchange(locked_, -1));
  forget();
}

PartialFile::PartialFile(std::string path, bool overwrite)
    : name_(std::move(path), overwrite, PartialPath::Makes::file) {
  descriptor_ = ::open(name_.partial().c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor_ < 0 && errno == EEXIST) name_.refuse_taken();
  if (descriptor_ < 0)
    fail(name_.path(), "creating " + name_.partial(), errno,
         "write to a folder that exists and may be written");
  name_.lock(descriptor_);
  pending_.reserve(kPendingBytes);
}

PartialFile::~PartialFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void PartialFile::write(std::span<const std::byte> bytes) {
  if (pending_.size() + bytes.size() > kPendingBytes) {
    reserve_ahead(descriptor_, written_bytes_ - pending_.size(), written_bytes_ + bytes.size());
    flush();
  }
  if (bytes.size() >= kPendingBytes) {
    put(written_bytes_, bytes);
  } else {
    pending_.insert(pending_.end(), bytes.begin(), bytes.end());
  }
  written_bytes_ += bytes.size();
  begin_to_flush();
}

// Asks the disk to write appended data, in whole windows, while the run goes on, so that finish() waits for less. Data
// of write_at() are excluded: their places may be written again and again.
void PartialFile::begin_to_flush() {
  const std::uint64_t windows = (written_bytes_ - pending_.size()) / kFlushedBytes * kFlushedBytes;
  if (windows == flushed_bytes_) return;
  // Errors are ignored: the flush at the end writes everything and reports them.
  ::sync_file_range(descriptor_, static_cast<off_t>(flushed_bytes_),
                    static_cast<off_t>(windows - flushed_bytes_), SYNC_FILE_RANGE_WRITE);
  flushed_bytes_ = windows;
}

void PartialFile::write(std::string_view text) {
  write(std::as_bytes(std::span(text.data(), text.size())));
}

void PartialFile::write_at(std::uint64_t offset_bytes, std::span<const std::byte> bytes) {
  flush();
  put(offset_bytes, bytes);
}

void PartialFile::put(std::uint64_t offset_bytes, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t done =
        ::pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset_bytes));
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0)
      fail(name_.path(), "writing at byte " + std::to_string(offset_bytes),
           done < 0 ? errno : ENOSPC);
    offset_bytes += static_cast<std::uint64_t>(done);
    bytes = bytes.subspan(static_cast<std::size_t>(done));
  }
}

void PartialFile::read_at(std::uint64_t offset_bytes, std::span<std::byte> bytes) {
  flush();
  while (!bytes.empty()) {
    const ssize_t done =
        ::pread(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset_bytes));
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0)
      fail(name_.path(), "reading back at byte " + std::to_string(offset_bytes),
           done < 0 ? errno : EIO);
    offset_bytes += static_cast<std::uint64_t>(done);
    bytes = bytes.subspan(static_cast<std::size_t>(done));
  }
}

void PartialFile::allocate(std::uint64_t size_bytes) {
  if (size_bytes == 0) return;
  int error = ::posix_fallocate(descriptor_, 0, static_cast<off_t>(size_bytes));
  while (error == EINTR) error = ::posix_fallocate(descriptor_, 0, static_cast<off_t>(size_bytes));
  if (error == EOPNOTSUPP || error == EINVAL) return resize(size_bytes);
  if (error != 0) fail(name_.path(), "reserving " + std::to_string(size_bytes) + " bytes", error);
}

void PartialFile::resize(std::uint64_t size_bytes) {
  flush();
  if (::ftruncate(descriptor_, static_cast<off_t>(size_bytes)) != 0)
    fail(name_.path(), "setting the size to " + std::to_string(size_bytes) + " bytes", errno);
}

void PartialFile::flush() {
  if (pending_.empty()) return;
  put(written_bytes_ - pending_.size(), pending_);
  pending_.clear();
}

void PartialFile::finish() {
  flush();
  // To the size of its contents: gives back space that was reserved behind its end.
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0) fail(name_.path(), "asking for the size", errno);
  resize(static_cast<std::uint64_t>(status.st_size));
  if (!names(name_.partial(), descriptor_)) name_.refuse_taken();
  close_file();
  name_.finish();
}

void PartialFile::close_file() {
  const int descriptor = std::exchange(descriptor_, -1);
  // Network file systems report a full disk only here.
  if (descriptor >= 0 && ::close(descriptor) != 0) fail(name_.path(), "closing", errno);
}

AppendFile::AppendFile(std::string path, bool overwrite)
    : name_(std::move(path), overwrite, PartialPath::Makes::file) {
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
  if (descriptor < 0) {
    if ((flags == 0 && errno == ENOENT) || errno == EEXIST) name_.refuse_taken();
    fail(name_.path(), "opening " + name_.partial(), errno, kCheckFolder);
  }
  struct stat status {};
  if (::fstat(descriptor, &status) == 0 &&
      static_cast<std::uint64_t>(status.st_size) != written_bytes_) {
    ::close(descriptor);
    name_.refuse_taken();
  }
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
    fail(name_.path(), "writing at byte " + std::to_string(written_bytes_), code, kCheckFolder);
}

}  // namespace tautline::formats

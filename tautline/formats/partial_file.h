// Outputs appear under their final name only when they are whole: they are written as PATH.partial
// and renamed at the end. Shared by every writer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace tautline::formats {

/// The name that `path` is written under until it is whole.
std::string partial_name(const std::string& path);

/// Whether a run, this one too, has locked the file under the partial name of `path`.
bool is_being_written(const std::string& path);

/// Removes the files under the partial names that the process has now; threads that ask for a new name then wait for
/// ever. For a program that is about to end while other threads still write. There is one list of names per process.
void remove_partial_files();
/// Notes a folder that was made for outputs, until it is forgotten: remove_partial_files() removes it last, if it is
/// empty.
void note_made_folder(const std::string& path);
void forget_made_folder(const std::string& path);
/// Notes a file that has its final name from its start: remove_partial_files() removes it as long as it is empty.
void note_growing_file(const std::string& path);
void forget_growing_file(const std::string& path);
/// Adds the remove_partial_files() of a module, which has a list of its own: remove_partial_files() then calls it too.
void also_remove_partial_files_of(void (*remove)());

/// Throws Error(io) where `path` exists, unless `overwrite`.
void refuse_existing(const std::string& path, bool overwrite);

/// Before the work, with `field`: throws Error(config) for an empty name and one in a folder that is not there or may
/// not be written, and Error(io), as refuse_existing(), for one that exists unless `overwrite`, or that is a folder
/// which is not replaced.
void require_can_be_written(const std::string& field, const std::string& path, bool overwrite);

/// The folder that TMPDIR names, or the system's. Throws Error(io) that names TMPDIR where it is none.
std::string temporary_folder();

/// Removes a file, if it is there.
void remove_file(const std::string& path) noexcept;

/// Waits until a file's bytes, or a folder's names, are on the disk. Throws Error(io).
void flush_to_disk(const std::string& path);

/// The name beside the final one. For writers whose library opens files by name (HDF5) or makes
/// folders (Measurement Sets). Destroyed before finish(), it removes whatever lies under the
/// partial name. Every failure is Error(io) with the path and the system's reason.
class PartialPath {
 public:
  enum class Makes { file_or_folder, file };

  /// Refuses an existing `path` unless `overwrite`, a folder that would not be replaced (only a Measurement Set replaces
  /// one), and a path whose partial file another run has locked; removes what a killed run left behind under the
  /// partial name.
  PartialPath(std::string path, bool overwrite, Makes makes = Makes::file_or_folder);
  ~PartialPath();
  PartialPath(const PartialPath&) = delete;
  PartialPath& operator=(const PartialPath&) = delete;

  const std::string& path() const { return path_; }
  const std::string& partial() const { return partial_; }
  /// Flushes the file to the disk and renames it. Whatever opened it must have closed it.
  void finish();
  /// Called once the file, or folder, exists under the partial name: locks it, so that no other run takes the name.
  /// Where the file system has no locks, nothing happens. `descriptor`: of the file, which stays the caller's;
  /// negative: opens one.
  void lock(int descriptor = -1);
  /// Throws Error(io): another run has the partial name, whose file is left to it.
  [[noreturn]] void refuse_taken();

 private:
  void forget();

  std::string path_, partial_;
  bool overwrite_;
  bool finished_ = false;
  int locked_ = -1;  // a descriptor of its own
};

/// A file that is written through PartialPath: sequentially, through a buffer, or at positions.
class PartialFile {
 public:
  PartialFile(std::string path, bool overwrite);
  ~PartialFile();
  PartialFile(const PartialFile&) = delete;
  PartialFile& operator=(const PartialFile&) = delete;

  const std::string& path() const { return name_.path(); }
  /// Appends; small pieces are gathered.
  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);
  /// Writes at a position, at once, past or before the end. The position of write() stays.
  void write_at(std::uint64_t offset_bytes, std::span<const std::byte> bytes);
  /// Reads the written bytes back; throws unless all are there.
  void read_at(std::uint64_t offset_bytes, std::span<std::byte> bytes);
  /// Makes the file `size_bytes` long, and reserves the space where the file system can, so that a
  /// disk that is too small says so now.
  void allocate(std::uint64_t size_bytes);
  /// Cuts or extends the file.
  void resize(std::uint64_t size_bytes);
  /// Bytes given to write() so far.
  std::uint64_t written_bytes() const { return written_bytes_; }
  void finish();

 private:
  void put(std::uint64_t offset_bytes, std::span<const std::byte> bytes);
  void flush();
  void begin_to_flush();
  void close_file();

  PartialPath name_;
  int descriptor_ = -1;
  std::uint64_t written_bytes_ = 0, flushed_bytes_ = 0;
  std::vector<std::byte> pending_;
};

/// Names the record of a file, then the file by `finish_file`: where the run is killed between the two, every file that
/// has its name has its record. Where the file cannot get its name, the record is removed, and that of a file that was
/// to be replaced is there again.
template <class Record, class FinishFile>
void finish_after_record(Record& record, FinishFile finish_file) {
  const PartialPath before(record.path() + ".before", true);
  std::error_code failed;
  std::filesystem::create_hard_link(record.path(), before.partial(), failed);
  record.finish();
  try {
    finish_file();
  } catch (...) {
    if (!failed) std::filesystem::rename(before.partial(), record.path(), failed);
    if (failed) remove_file(record.path());
    throw;
  }
}

/// A file written front to back that is open only while something is written: a folder of thousands
/// of dedispersed series would need more descriptors than a process has. Every failure is Error(io)
/// with the path and the system's reason.
class AppendFile {
 public:
  /// Makes the empty file.
  AppendFile(std::string path, bool overwrite);

  /// Keeps the file open after all, so that no other run takes its name.
  void lock() { name_.lock(); }
  /// Writes at once, without a buffer: pass large pieces.
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

// HDF5 for one writer: a file that survives a full disk, handles that close themselves, and the
// few kinds of dataset that our files are made of. Included by .cpp files of formats/ only.
//
// HDF5 keeps state that cannot be closed once a write has failed, and complains about it when the
// process ends. So the file goes through a driver of our own: the first failed write is remembered
// and thrown as Error(io) by the next check, later ones are dropped, and the file then closes
// cleanly, to be deleted.
#pragma once

#include <hdf5.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tautline/formats/space_ahead.h"

namespace tautline::formats::hdf5 {

/// The state of the driver for its file.
struct DriverState {
  int descriptor = -1;
  std::atomic<int> first_error = 0;  ///< errno of the first write that failed
  std::string path;                  ///< for messages
  /// Not null: the next raw data that HDF5 writes is left out, and its address noted here.
  haddr_t* reserved = nullptr;
  SpaceAhead space;  ///< closing the file gives unused space back

  /// Several threads may write at once. Does nothing after a failure.
  void write(haddr_t address, std::size_t bytes, const void* data);
};

/// Keeps HDF5 from printing while it lives, and gives the host's handler back after.
class QuietErrors {
 public:
  QuietErrors();
  ~QuietErrors();
  QuietErrors(const QuietErrors&) = delete;
  QuietErrors& operator=(const QuietErrors&) = delete;

 private:
  H5E_auto2_t function_ = nullptr;
  void* data_ = nullptr;
};

/// Owns one HDF5 identifier.
class Handle {
 public:
  using Close = herr_t (*)(hid_t);
  Handle() = default;
  Handle(hid_t id, Close close) : id_(id), close_(close) {}
  Handle(Handle&& other) noexcept;
  Handle& operator=(Handle&& other) noexcept;
  ~Handle();

  hid_t get() const { return id_; }
  /// False when HDF5 could not close it.
  bool reset();

 private:
  hid_t id_ = -1;
  Close close_ = nullptr;
};

/// A new file, written by one thread. Every call throws Error(io) with the path and the reason.
class File {
 public:
  /// Creates or empties `name`; messages speak of `path`.
  File(const std::string& name, const std::string& path);
  ~File();
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  /// Flushes and closes; the file is whole when this returns.
  void close();

  Handle group(hid_t parent, const std::string& name);
  void write(hid_t group, const std::string& name, double value) {
    write_typed(group, name, H5T_NATIVE_DOUBLE, &value, {});
  }
  void write(hid_t group, const std::string& name, std::int64_t value) {
    write_typed(group, name, H5T_NATIVE_INT64, &value, {});
  }
  void write_bool(hid_t group, const std::string& name, bool value);
  void write(hid_t group, const std::string& name, const std::string& text);
  /// A dataset without a value, as h5py.Empty("f").
  void write_empty(hid_t group, const std::string& name);
  void write(hid_t group, const std::string& name, std::span<const double> values,
             std::span<const hsize_t> shape) {
    write_typed(group, name, H5T_NATIVE_DOUBLE, values.data(), shape);
  }
  void write(hid_t group, const std::string& name, std::span<const std::int64_t> values,
             std::span<const hsize_t> shape) {
    write_typed(group, name, H5T_NATIVE_INT64, values.data(), shape);
  }
  void write(hid_t group, const std::string& name, std::span<const float> values,
             std::span<const hsize_t> shape) {
    write_typed(group, name, H5T_NATIVE_FLOAT, values.data(), shape);
  }
  /// Strings of one fixed length, that of the longest.
  void write(hid_t group, const std::string& name, std::span<const std::string> texts,
             std::span<const hsize_t> shape);

  /// Writes to an address that HDF5 reserved (Growing::reserve_chunk). Several threads may do so at once; a failure is
  /// thrown by the next check.
  void write_at(haddr_t address, std::size_t bytes, const void* data) {
    state_->write(address, bytes, data);
  }

  hid_t root() const { return file_.get(); }
  /// Throws when the last call failed or a write to the disk did. Returns `result`.
  template <class T>
  T check(T result, const char* doing) {
    if (result < 0 || state_->first_error != 0) fail(doing);
    return result;
  }

 private:
  [[noreturn]] void fail(const char* doing);
  void write_typed(hid_t group, const std::string& name, hid_t type, const void* values,
                   std::span<const hsize_t> shape);

  // Shared with the driver, which outlives this when HDF5 cannot close the file.
  std::unique_ptr<DriverState> state_;
  Handle driver_, file_;

  friend class Growing;
};

/// A copy of one of HDF5's own types.
inline Handle native(hid_t type) {
  return {H5Tcopy(type), H5Tclose};
}
/// The enumeration that h5py makes of numpy's bool.
Handle bool_type();
/// The compound {r, i} that h5py makes of numpy's complex64.
Handle complex_type();

/// A dataset that grows along its first axis.
class Growing {
 public:
  /// `row_shape` is the shape of one entry, empty for numbers. Chunks hold `chunk_rows` rows. Elements that are never
  /// written read as `fill`, a value of the type; null: as zeros.
  Growing(File& file, hid_t group, const std::string& name, Handle type,
          std::vector<hsize_t> row_shape, hsize_t chunk_rows,
          std::vector<hsize_t> chunk_row_shape = {}, const void* fill = nullptr);

  /// Makes room for `rows` more.
  void extend(hsize_t rows);
  /// Writes rows [first, first + rows) in the type of the dataset; `values` is dense.
  void write(hsize_t first, hsize_t rows, const void* values);
  /// Reserves room in the file for the chunk that begins at `place` (one number an axis) and returns its address. The
  /// caller writes all of its bytes there, once, with File::write_at. HDF5 itself would copy the chunks and write them
  /// one after the other; threads that know the addresses write at the same time.
  haddr_t reserve_chunk(std::span<const hsize_t> place);
  hsize_t rows() const { return rows_; }

 private:
  File* file_;
  Handle type_, dataset_;
  std::vector<hsize_t> row_shape_;
  std::size_t chunk_bytes_ = 0;
  std::unique_ptr<char[]> unread_;
  hsize_t rows_ = 0;
};

}  // namespace tautline::formats::hdf5

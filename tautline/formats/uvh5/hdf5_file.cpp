#include "tautline/formats/uvh5/hdf5_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "tautline/core/error.h"
#include "tautline/formats/uvh5/hdf5_driver.h"

namespace tautline::formats::hdf5 {
namespace {

using core::Error;
using core::ErrorKind;

// The description of the innermost entry of HDF5's error stack.
herr_t first_description(unsigned, const H5E_error2_t* entry, void* text) {
  auto& found = *static_cast<std::string*>(text);
  if (found.empty() && entry->desc != nullptr) found = entry->desc;
  return 0;
}

Handle string_type(std::size_t bytes) {
  Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
  H5Tset_size(type.get(), std::max<std::size_t>(bytes, 1));
  H5Tset_strpad(type.get(), H5T_STR_NULLPAD);
  return type;
}

Handle space_of(std::span<const hsize_t> shape) {
  return shape.empty()
             ? Handle(H5Screate(H5S_SCALAR), H5Sclose)
             : Handle(H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr),
                      H5Sclose);
}

// The same run gives the same bytes: no times of writing.
Handle create_properties() {
  Handle creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  H5Pset_obj_track_times(creation.get(), false);
  return creation;
}

// HDF5 counts the bytes that a part of a chunked dataset's index takes in the file and lets all parts together grow to
// 32 MiB of these; in memory a part takes six times as many. A run that writes for hours would grow by that much. Chunks
// are written in order, so that the last parts are enough.
void limit_index(hid_t access) {
  constexpr std::size_t kIndexBytes = std::size_t{256} << 10;
  H5AC_cache_config_t cache{};
  cache.version = H5AC__CURR_CACHE_CONFIG_VERSION;
  H5Pget_mdc_config(access, &cache);
  cache.set_initial_size = true;
  cache.initial_size = cache.min_size = cache.max_size = kIndexBytes;
  cache.incr_mode = H5C_incr__off;
  cache.flash_incr_mode = H5C_flash_incr__off;
  cache.decr_mode = H5C_decr__off;
  H5Pset_mdc_config(access, &cache);
}

}  // namespace

QuietErrors::QuietErrors() {
  H5Eget_auto2(H5E_DEFAULT, &function_, &data_);
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

QuietErrors::~QuietErrors() {
  H5Eset_auto2(H5E_DEFAULT, function_, data_);
}

Handle::Handle(Handle&& other) noexcept : id_(other.id_), close_(other.close_) {
  other.id_ = -1;
}

Handle& Handle::operator=(Handle&& other) noexcept {
  if (this != &other) {
    reset();
    id_ = std::exchange(other.id_, -1);
    close_ = other.close_;
  }
  return *this;
}

Handle::~Handle() {
  reset();
}

bool Handle::reset() {
  const hid_t id = std::exchange(id_, -1);
  return id < 0 || close_(id) >= 0;
}

File::File(const std::string& name, const std::string& path)
    : state_(std::make_unique<DriverState>()) {
  const QuietErrors quiet;
  state_->path = path;
  state_->descriptor = ::open(name.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (state_->descriptor < 0)
    throw Error(ErrorKind::io, path + ": creating " + name, std::generic_category().message(errno),
                {}, "write to a folder that exists and may be written");
  driver_ = register_driver();
  const Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  if (driver_.get() < 0 || use_driver(access.get(), driver_.get(), state_.get()) < 0)
    fail("setting up HDF5");
  limit_index(access.get());
  file_ = Handle(H5Fcreate(name.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access.get()), H5Fclose);
  check(file_.get(), "creating");
}

File::~File() {
  const QuietErrors quiet;
  const bool closed = file_.reset();
  const int descriptor = state_->descriptor;
  if (!closed) (void)state_.release();  // HDF5 still points to it, and will until the process ends
  if (descriptor >= 0) ::close(descriptor);
}

void File::close() {
  const QuietErrors quiet;
  check(H5Fflush(file_.get(), H5F_SCOPE_GLOBAL), "flushing");
  if (!file_.reset()) {
    (void)state_.release();
    state_ = std::make_unique<DriverState>();
    fail("closing");
  }
  if (state_->first_error != 0) fail("closing");
  const int descriptor = std::exchange(state_->descriptor, -1);
  if (::close(descriptor) != 0) {
    state_->first_error = errno;
    fail("closing");
  }
}

void File::fail(const char* doing) {
  const int error = state_->first_error;
  std::string reason;
  if (error != 0) {
    reason = std::generic_category().message(error);
  } else {
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, first_description, &reason);
    reason = "HDF5 says: " + (reason.empty() ? "failed" : reason);
  }
  const bool full = error == ENOSPC || error == EDQUOT || error == EFBIG;
  throw Error(ErrorKind::io, fmt::format("{}: {}", state_->path, doing), reason, {},
              full ? "make room and run again; nothing was left under the final name"
                   : "nothing was left under the final name");
}

Handle File::group(hid_t parent, const std::string& name) {
  Handle group(H5Gcreate2(parent, name.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose);
  check(group.get(), "creating a group");
  return group;
}

void File::write_typed(hid_t group, const std::string& name, hid_t type, const void* values,
                       std::span<const hsize_t> shape) {
  const Handle space = space_of(shape), creation = create_properties();
  const Handle dataset(
      H5Dcreate2(group, name.c_str(), type, space.get(), H5P_DEFAULT, creation.get(), H5P_DEFAULT),
      H5Dclose);
  const std::string doing = "writing " + name;
  check(dataset.get(), doing.c_str());
  check(H5Dwrite(dataset.get(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values), doing.c_str());
}

void File::write_bool(hid_t group, const std::string& name, bool value) {
  const std::int8_t byte = value ? 1 : 0;
  write_typed(group, name, bool_type().get(), &byte, {});
}

void File::write(hid_t group, const std::string& name, const std::string& text) {
  const Handle type = string_type(text.size());
  write_typed(group, name, type.get(), text.c_str(), {});
}

void File::write_empty(hid_t group, const std::string& name) {
  const Handle space(H5Screate(H5S_NULL), H5Sclose), creation = create_properties();
  const Handle dataset(H5Dcreate2(group, name.c_str(), H5T_NATIVE_FLOAT, space.get(), H5P_DEFAULT,
                                  creation.get(), H5P_DEFAULT),
                       H5Dclose);
  check(dataset.get(), "writing an empty value");
}

void File::write(hid_t group, const std::string& name, std::span<const std::string> texts,
                 std::span<const hsize_t> shape) {
  std::size_t length = 1;
  for (const std::string& text : texts) length = std::max(length, text.size());
  std::vector<char> bytes(length * texts.size());
  for (std::size_t i = 0; i < texts.size(); ++i)
    std::copy(texts[i].begin(), texts[i].end(),
              bytes.begin() + static_cast<std::ptrdiff_t>(i * length));
  const Handle type = string_type(length);
  write_typed(group, name, type.get(), bytes.data(), shape);
}

Handle bool_type() {
  Handle type(H5Tenum_create(H5T_STD_I8LE), H5Tclose);
  const std::int8_t no = 0, yes = 1;
  H5Tenum_insert(type.get(), "FALSE", &no);
  H5Tenum_insert(type.get(), "TRUE", &yes);
  return type;
}

Handle complex_type() {
  Handle type(H5Tcreate(H5T_COMPOUND, 2 * sizeof(float)), H5Tclose);
  H5Tinsert(type.get(), "r", 0, H5T_NATIVE_FLOAT);
  H5Tinsert(type.get(), "i", sizeof(float), H5T_NATIVE_FLOAT);
  return type;
}

Growing::Growing(File& file, hid_t group, const std::string& name, Handle type,
                 std::vector<hsize_t> row_shape, hsize_t chunk_rows,
                 std::vector<hsize_t> chunk_row_shape, const void* fill)
    : file_(&file), type_(std::move(type)), row_shape_(std::move(row_shape)) {
  if (chunk_row_shape.empty()) chunk_row_shape = row_shape_;
  const int rank = static_cast<int>(row_shape_.size()) + 1;
  std::vector<hsize_t> shape(1, 0), limit(1, H5S_UNLIMITED), chunk(1, chunk_rows);
  shape.insert(shape.end(), row_shape_.begin(), row_shape_.end());
  limit.insert(limit.end(), row_shape_.begin(), row_shape_.end());
  chunk.insert(chunk.end(), chunk_row_shape.begin(), chunk_row_shape.end());
  const Handle space(H5Screate_simple(rank, shape.data(), limit.data()), H5Sclose);
  const Handle creation = create_properties();
  H5Pset_chunk(creation.get(), rank, chunk.data());
  if (fill != nullptr) H5Pset_fill_value(creation.get(), type_.get(), fill);
  chunk_bytes_ = H5Tget_size(type_.get());
  for (const hsize_t length : chunk) chunk_bytes_ *= length;
  dataset_ = Handle(H5Dcreate2(group, name.c_str(), type_.get(), space.get(), H5P_DEFAULT,
                               creation.get(), H5P_DEFAULT),
                    H5Dclose);
  file.check(dataset_.get(), ("creating " + name).c_str());
}

void Growing::extend(hsize_t rows) {
  rows_ += rows;
  std::vector<hsize_t> shape(1, rows_);
  shape.insert(shape.end(), row_shape_.begin(), row_shape_.end());
  file_->check(H5Dset_extent(dataset_.get(), shape.data()), "writing");
}

void Growing::write(hsize_t first, hsize_t rows, const void* values) {
  std::vector<hsize_t> start(row_shape_.size() + 1, 0), count(1, rows);
  start[0] = first;
  count.insert(count.end(), row_shape_.begin(), row_shape_.end());
  const Handle memory(H5Screate_simple(static_cast<int>(count.size()), count.data(), nullptr),
                      H5Sclose);
  const Handle space(H5Dget_space(dataset_.get()), H5Sclose);
  file_->check(H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, start.data(), nullptr, count.data(),
                                   nullptr),
               "writing");
  file_->check(
      H5Dwrite(dataset_.get(), type_.get(), memory.get(), space.get(), H5P_DEFAULT, values),
      "writing");
}

haddr_t Growing::reserve_chunk(std::span<const hsize_t> place) {
  // HDF5 hands it to our driver, which does not read it.
  if (!unread_) unread_ = std::make_unique_for_overwrite<char[]>(chunk_bytes_);
  haddr_t address = HADDR_UNDEF;
  DriverState& state = *file_->state_;
  state.reserved = &address;
  const herr_t done =
      H5Dwrite_chunk(dataset_.get(), H5P_DEFAULT, 0, place.data(), chunk_bytes_, unread_.get());
  state.reserved = nullptr;
  file_->check(done, "writing");
  if (address == HADDR_UNDEF) file_->fail("reserving a chunk");
  return address;
}

}  // namespace tautline::formats::hdf5

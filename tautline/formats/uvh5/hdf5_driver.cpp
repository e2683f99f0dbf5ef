#include "tautline/formats/uvh5/hdf5_driver.h"

#if __has_include(<H5FDdevelop.h>)
#include <H5FDdevelop.h>  // from HDF5 1.14 on, drivers are declared here
#endif
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

namespace tautline::formats::hdf5 {
namespace {

struct DriverInfo {
  DriverState* state;
};

// HDF5 sees the first member and hands pointers to it back.
struct OpenFile {
  H5FD_t base;
  DriverState* state;
  haddr_t end_of_space;
};

OpenFile* of(H5FD_t* file) {
  return reinterpret_cast<OpenFile*>(file);
}
const OpenFile* of(const H5FD_t* file) {
  return reinterpret_cast<const OpenFile*>(file);
}

void remember(DriverState* state, int error) {
  int none = 0;
  state->first_error.compare_exchange_strong(none, error);
}

H5FD_t* open_file(const char*, unsigned, hid_t access, haddr_t) {
  const auto* info = static_cast<const DriverInfo*>(H5Pget_driver_info(access));
  if (info == nullptr) return nullptr;
  auto* file = new (std::nothrow) OpenFile{};
  if (file == nullptr) return nullptr;
  file->state = info->state;
  return &file->base;
}

herr_t close_file(H5FD_t* file) {
  delete of(file);  // the descriptor belongs to File
  return 0;
}

int compare(const H5FD_t* a, const H5FD_t* b) {
  const auto x = reinterpret_cast<std::uintptr_t>(of(a)->state);
  const auto y = reinterpret_cast<std::uintptr_t>(of(b)->state);
  return x < y ? -1 : x > y ? 1 : 0;
}

herr_t query(const H5FD_t*, unsigned long* flags) {
  *flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA | H5FD_FEAT_DATA_SIEVE |
           H5FD_FEAT_AGGREGATE_SMALLDATA;
  return 0;
}

haddr_t get_end_of_space(const H5FD_t* file, H5FD_mem_t) {
  return of(file)->end_of_space;
}

herr_t set_end_of_space(H5FD_t* file, H5FD_mem_t, haddr_t address) {
  of(file)->end_of_space = address;
  return 0;
}

haddr_t get_end_of_file(const H5FD_t* file, H5FD_mem_t) {
  const DriverState* state = of(file)->state;
  struct stat status {};
  // After a failed write the file's real size means nothing any more.
  if (state->first_error != 0 || ::fstat(state->descriptor, &status) != 0)
    return of(file)->end_of_space;
  return static_cast<haddr_t>(status.st_size);
}

herr_t get_handle(H5FD_t* file, hid_t, void** handle) {
  *handle = &of(file)->state->descriptor;
  return 0;
}

// Bytes that were never written, or were dropped, read as zeros.
herr_t read_bytes(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t address, std::size_t size,
                  void* buffer) {
  auto* to = static_cast<char*>(buffer);
  while (size > 0) {
    const ssize_t got = ::pread(of(file)->state->descriptor, to, size, static_cast<off_t>(address));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) remember(of(file)->state, errno);
    if (got <= 0) break;
    to += got;
    address += static_cast<haddr_t>(got);
    size -= static_cast<std::size_t>(got);
  }
  std::memset(to, 0, size);
  return 0;
}

herr_t write_bytes(H5FD_t* file, H5FD_mem_t type, hid_t, haddr_t address, std::size_t size,
                   const void* buffer) {
  DriverState* state = of(file)->state;
  if (state->reserved != nullptr && type == H5FD_MEM_DRAW)
    *std::exchange(state->reserved, nullptr) = address;
  else
    state->write(address, size, buffer);
  return 0;
}

herr_t truncate_file(H5FD_t* file, hid_t, hbool_t) {
  DriverState* state = of(file)->state;
  if (state->first_error == 0 &&
      ::ftruncate(state->descriptor, static_cast<off_t>(of(file)->end_of_space)) != 0)
    remember(state, errno);
  return 0;
}

H5FD_class_t driver_class() {
  H5FD_class_t driver{};
#ifdef H5FD_CLASS_VERSION
  driver.version = H5FD_CLASS_VERSION;
  driver.value = static_cast<H5FD_class_value_t>(517);  // within the range left to applications
#endif
  driver.name = "tautline";
  driver.maxaddr = static_cast<haddr_t>(1) << 62;
  driver.fc_degree = H5F_CLOSE_STRONG;
  driver.fapl_size = sizeof(DriverInfo);
  driver.open = open_file;
  driver.close = close_file;
  driver.cmp = compare;
  driver.query = query;
  driver.get_eoa = get_end_of_space;
  driver.set_eoa = set_end_of_space;
  driver.get_eof = get_end_of_file;
  driver.get_handle = get_handle;
  driver.read = read_bytes;
  driver.write = write_bytes;
  driver.truncate = truncate_file;
  const H5FD_mem_t map[H5FD_MEM_NTYPES] = H5FD_FLMAP_DICHOTOMY;
  std::copy(std::begin(map), std::end(map), std::begin(driver.fl_map));
  return driver;
}

}  // namespace

void DriverState::write(haddr_t address, std::size_t bytes, const void* data) {
  if (bytes > 0 && first_error == 0) space.reserve(descriptor, address + bytes);
  const auto* from = static_cast<const char*>(data);
  while (bytes > 0 && first_error == 0) {
    const ssize_t put = ::pwrite(descriptor, from, bytes, static_cast<off_t>(address));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return remember(this, errno);
    from += put;
    address += static_cast<haddr_t>(put);
    bytes -= static_cast<std::size_t>(put);
  }
}

Handle register_driver() {
  const H5FD_class_t driver = driver_class();
  return Handle(H5FDregister(&driver), H5FDunregister);
}

herr_t use_driver(hid_t access, hid_t driver, DriverState* state) {
  const DriverInfo info{state};
  return H5Pset_driver(access, driver, &info);
}

}  // namespace tautline::formats::hdf5

// Addresses for memory objects. OpenCL 1.2 hands out handles; stages work with addresses and views.
// Every memory object gets a range of the host's addresses that is reserved and never readable, so
// that arithmetic works and a stray read on the host stops at once.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <shared_mutex>

#include "tautline/device/opencl/handles.h"

namespace tautline::device::opencl {

struct Place {
  cl_mem memory = nullptr;
  std::size_t offset_bytes = 0;
};

class AddressSpace {
 public:
  /// Reserves a range for device memory. Throws Error(memory).
  void* reserve(cl_mem memory, std::size_t bytes);
  /// Names a range of real host memory that is pinned (mapped from a memory object).
  void add_pinned(void* address, std::size_t bytes);
  void release(void* address);

  /// The memory object behind a device address; nothing when it is a host's.
  std::optional<Place> find(const void* address) const;
  bool pinned(const void* address) const;

 private:
  struct Range {
    std::size_t bytes = 0, reserved_bytes = 0;
    cl_mem memory = nullptr;  // null: pinned host memory
  };
  const Range* range_of(const void* address, std::size_t& offset) const;

  mutable std::shared_mutex mutex_;
  std::map<const std::byte*, Range> ranges_;
};

}  // namespace tautline::device::opencl

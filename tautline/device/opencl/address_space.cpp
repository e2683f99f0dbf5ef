#include "tautline/device/opencl/address_space.h"

#include <sys/mman.h>

#include <mutex>

#include "tautline/core/error.h"

namespace tautline::device::opencl {

namespace {

constexpr std::size_t kPage = 4096;

}  // namespace

void* AddressSpace::reserve(cl_mem memory, std::size_t bytes) {
  // One byte more, so that the end of one object is never the start of another.
  const std::size_t reserved = (bytes + kPage) / kPage * kPage;
  void* address =
      mmap(nullptr, reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (address == MAP_FAILED)
    throw core::Error(core::ErrorKind::memory, "address space", std::to_string(bytes) + " bytes",
                      "less", "raise the process's limit of virtual memory");
  const std::unique_lock lock(mutex_);
  ranges_[static_cast<std::byte*>(address)] = {bytes, reserved, memory};
  return address;
}

void AddressSpace::add_pinned(void* address, std::size_t bytes) {
  const std::unique_lock lock(mutex_);
  ranges_[static_cast<std::byte*>(address)] = {bytes, 0, nullptr};
}

void AddressSpace::release(void* address) {
  const std::unique_lock lock(mutex_);
  const auto found = ranges_.find(static_cast<std::byte*>(address));
  if (found == ranges_.end()) return;
  if (found->second.reserved_bytes > 0) munmap(address, found->second.reserved_bytes);
  ranges_.erase(found);
}

const AddressSpace::Range* AddressSpace::range_of(const void* address, std::size_t& offset) const {
  const auto* at = static_cast<const std::byte*>(address);
  auto next = ranges_.upper_bound(at);
  if (next == ranges_.begin()) return nullptr;
  --next;
  offset = static_cast<std::size_t>(at - next->first);
  return offset <= next->second.bytes ? &next->second : nullptr;
}

std::optional<Place> AddressSpace::find(const void* address) const {
  const std::shared_lock lock(mutex_);
  std::size_t offset = 0;
  const Range* range = range_of(address, offset);
  if (range == nullptr || range->memory == nullptr) return std::nullopt;
  return Place{range->memory, offset};
}

bool AddressSpace::pinned(const void* address) const {
  const std::shared_lock lock(mutex_);
  std::size_t offset = 0;
  const Range* range = range_of(address, offset);
  return range != nullptr && range->memory == nullptr;
}

}  // namespace tautline::device::opencl

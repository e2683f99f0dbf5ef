#include "tautline/formats/space_ahead.h"

#include <fcntl.h>

#include <bit>
#include <cerrno>

namespace tautline::formats {

namespace {

// Bytes that one call reserves. On ext4, writes then take 0.15 s of a core for each GB instead of 0.21; 8 or 256 MiB
// are as good.
constexpr std::uint64_t kAheadBytes = std::uint64_t{64} << 20;

// The reserved size of a file that ends there; for short files not much more than they need.
std::uint64_t reserved_bytes(std::uint64_t end_bytes) {
  return end_bytes < kAheadBytes ? std::bit_ceil(end_bytes)
                                 : (end_bytes / kAheadBytes + 1) * kAheadBytes;
}

}  // namespace

void reserve_ahead(int descriptor, std::uint64_t from_bytes, std::uint64_t to_bytes) {
  const std::uint64_t had = from_bytes == 0 ? 0 : reserved_bytes(from_bytes),
                      wanted = reserved_bytes(to_bytes);
  if (wanted <= had) return;
  // Errors are ignored: a disk that has no room for the reservation may have room for the data, and the writes report a
  // full disk.
  while (::fallocate(descriptor, FALLOC_FL_KEEP_SIZE, static_cast<off_t>(had),
                     static_cast<off_t>(wanted - had)) != 0 &&
         errno == EINTR) {
  }
}

void SpaceAhead::reserve(int descriptor, std::uint64_t end_bytes) {
  const std::lock_guard lock(mutex_);
  if (end_bytes <= end_bytes_) return;
  reserve_ahead(descriptor, end_bytes_, end_bytes);
  end_bytes_ = end_bytes;
}

}  // namespace tautline::formats

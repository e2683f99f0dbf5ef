// Space for a file that grows, asked of the file system before it is written.
#pragma once

#include <cstdint>
#include <mutex>

namespace tautline::formats {

/// Called before a write that moves a file's end from `from_bytes` to `to_bytes`: reserves that space and some more,
/// where the file system can. Writes to reserved space take less of a core's time than writes that extend a file. The
/// file's size is unchanged; ftruncate at the end gives the unused space back.
void reserve_ahead(int descriptor, std::uint64_t from_bytes, std::uint64_t to_bytes);

/// The same for several threads, whose writes need not be in order.
class SpaceAhead {
 public:
  void reserve(int descriptor, std::uint64_t end_bytes);

 private:
  std::mutex mutex_;
  std::uint64_t end_bytes_ = 0;
};

}  // namespace tautline::formats

// Space for a file that grows, asked of the file system before it is written.
#pragma once

#include <cstdint>
#include <mutex>

namespace tautline::formats {

/// Before a write that moves a file's end from `from_bytes` to `to_bytes`: asks for that and some more, where the file
/// system can. Writes to space that a file has take less of a core's time than writes that extend it. The file's size
/// stays what was written: set the size at the end (ftruncate), which gives back what was not.
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

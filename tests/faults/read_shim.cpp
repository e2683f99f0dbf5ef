// Preloaded: from the N-th on, reads of a file whose path contains NAME fail (fault.h, `read NAME N`), as those of a
// disk that cannot be read any more.
#include <dlfcn.h>
#include <sys/types.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>

#include "tests/faults/fault.h"

namespace {

bool fails(int descriptor) {
  static tautline::tests::Fault fault;
  std::array<char, 4096> path{};
  const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
  const ssize_t length = readlink(link.c_str(), path.data(), path.size());
  if (length <= 0 ||
      !fault.strikes("read", std::string(path.data(), static_cast<std::size_t>(length))))
    return false;
  errno = EIO;
  return true;
}

}  // namespace

extern "C" {

ssize_t pread(int descriptor, void* to, size_t size, off_t offset) {
  if (fails(descriptor)) return -1;
  return reinterpret_cast<decltype(pread)*>(dlsym(RTLD_NEXT, "pread"))(descriptor, to, size,
                                                                       offset);
}

ssize_t pread64(int descriptor, void* to, size_t size, off64_t offset) {
  if (fails(descriptor)) return -1;
  return reinterpret_cast<decltype(pread64)*>(dlsym(RTLD_NEXT, "pread64"))(descriptor, to, size,
                                                                           offset);
}

}  // extern "C"

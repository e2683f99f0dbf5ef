#include "tautline/formats/free_space.h"

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>

namespace tautline::formats {

int probe_free_space(const std::string& folder, std::uint64_t bytes) {
  std::string name = folder + "/room-XXXXXX";
  const int descriptor = ::mkostemp(name.data(), O_CLOEXEC);
  if (descriptor >= 0) {
    ::unlink(name.c_str());
    const int failed = ::fallocate(descriptor, 0, 0, static_cast<off_t>(bytes));
    const int error = failed == 0 ? 0 : errno;
    ::close(descriptor);
    if (error == 0 || error == ENOSPC || error == EDQUOT) return error;
  }
  struct statvfs space {};
  if (::statvfs(folder.c_str(), &space) != 0 || space.f_blocks == 0) return 0;  // nothing is known
  return space.f_bavail * space.f_frsize < bytes ? ENOSPC : 0;
}

}  // namespace tautline::formats

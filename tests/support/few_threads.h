// A system that gives this process a few threads more, and then no others.
#pragma once

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstddef>
#include <fstream>

namespace tautline::tests {

/// While it lives, threads that begin have stacks so long that there is room for about three of them.
class FewThreads {
 public:
  FewThreads() {
    ::pthread_getattr_default_np(&before_);
    pthread_attr_t attributes;
    ::pthread_attr_init(&attributes);
    ::pthread_attr_setstacksize(&attributes, kStack_bytes);
    ::pthread_setattr_default_np(&attributes);
    ::pthread_attr_destroy(&attributes);
    ::getrlimit(RLIMIT_AS, &limit_);
    std::size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    rlimit few = limit_;
    few.rlim_cur = pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)) + 7 * kStack_bytes / 2;
    ::setrlimit(RLIMIT_AS, &few);
  }
  ~FewThreads() {
    ::setrlimit(RLIMIT_AS, &limit_);
    ::pthread_setattr_default_np(&before_);
    ::pthread_attr_destroy(&before_);
  }
  FewThreads(const FewThreads&) = delete;
  FewThreads& operator=(const FewThreads&) = delete;

 private:
  static constexpr std::size_t kStack_bytes = std::size_t{1} << 30;
  pthread_attr_t before_{};
  rlimit limit_{};
};

}  // namespace tautline::tests

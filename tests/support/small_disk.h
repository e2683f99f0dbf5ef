// A disk of a given size for a child process: a tmpfs in a mount namespace of its own.
#pragma once

#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <iostream>
#include <string>

namespace tautline::tests {

/// Exit status of a child whose disk could not be made: not allowed on this machine.
inline constexpr int kNoSmallDisk = 77;

/// Runs `child` in a process whose `folder` is an empty disk of `bytes`, and returns its exit
/// status, 1000 + the signal that ended it, or kNoSmallDisk.
template <class Child>
int on_small_disk(const std::string& folder, std::size_t bytes, Child&& child) {
  const pid_t pid = fork();
  if (pid == 0) {
    const std::string size = "size=" + std::to_string(bytes);
    if ((unshare(CLONE_NEWNS) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) ||
        mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount("tmpfs", folder.c_str(), "tmpfs", 0, size.c_str()) != 0)
      _exit(kNoSmallDisk);
    const int status = child();
    std::cout.flush();
    std::fflush(nullptr);
    _exit(status);  // without the destructors of what only the parent's threads use
  }
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

}  // namespace tautline::tests

// A command that reads a filterbank from a named pipe, which the test writes.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "tests/end_to_end/run_command.h"
#include "tests/end_to_end/search/search_files.h"
#include "tests/support/scratch.h"
#include "tests/support/seed.h"

namespace tautline::tests {

/// The temporary files of the command lie in "meanwhile". The pipe has the name "a.fil" in another folder.
class PipedRun : public ::testing::Test {
 protected:
  PipedRun() {
    shape_.nchans = 32;
    shape_.fch1 = 1500;
    shape_.foff = -8;
    shape_.tsamp = 256e-6;
    for (const char* name : {"run", "meanwhile", "pipes"})
      std::filesystem::create_directory(scratch_ / name);
    signal(SIGPIPE, SIG_IGN);
  }
  void SetUp() override { ASSERT_EQ(mkfifo(pipe_.c_str(), 0600), 0); }

  pid_t start(const std::vector<std::string>& words) {
    return start_command(words, scratch_ / "run", {{"TMPDIR", scratch_ / "meanwhile"}});
  }
  int open_pipe() const { return open(pipe_.c_str(), O_WRONLY); }
  // In pieces of any length, as far as it is read.
  void feed(int pipe, const std::string& bytes, std::size_t from, std::size_t until) {
    while (from < until) {
      const std::size_t some =
          std::min<std::size_t>(until - from, std::size_t{1} + random_() % 100'000);
      const ssize_t n = ::write(pipe, bytes.data() + from, some);
      if (n <= 0) return;
      from += static_cast<std::size_t>(n);
    }
  }
  // The command reads these bytes as they come, and no more.
  CommandResult run_piped(const std::vector<std::string>& words, const std::string& bytes) {
    const pid_t pid = start(words);
    const int out = open_pipe();
    feed(out, bytes, 0, bytes.size());
    EXPECT_TRUE(std::filesystem::is_empty(scratch_ / "meanwhile"));
    close(out);
    return finish_command(pid, scratch_ / "run");
  }

  SigprocShape shape_;
  ScratchFolder scratch_;
  std::string pipe_ = scratch_ / "pipes/a.fil";
  std::mt19937_64 random_ = generator();
};

}  // namespace tautline::tests

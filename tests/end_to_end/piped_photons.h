// Counts and time tags that come to the command through a pipe.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <csignal>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tautline/formats/curves/curves.h"
#include "tests/end_to_end/command_test.h"
#include "tests/support/pipe.h"
#include "tests/support/seed.h"

namespace tautline::tests {

#ifdef TAUTLINE_HDF5
#define NEEDS_HDF5
#else
#define NEEDS_HDF5 GTEST_SKIP() << "a build without HDF5"
#endif

class PipedPhotons : public CommandTest {
 protected:
  void SetUp() override { signal(SIGPIPE, SIG_IGN); }

  /// Its bytes on the standard input of the command.
  CommandResult run_through_pipe(const std::string& bytes, const std::vector<std::string>& words) {
    write_file(scratch / "piped", bytes);
    return run_shell("cat '" + (scratch / "piped") + "' | " + command_line(words),
                     scratch.path().string());
  }
  std::string make_fifo() {
    const std::string path = scratch / "fifo";
    EXPECT_EQ(mkfifo(path.c_str(), 0600), 0);
    return path;
  }
  /// Opens the other end once the command has.
  static int open_fifo(const std::string& path) { return open(path.c_str(), O_WRONLY | O_CLOEXEC); }
  template <class Condition>
  static bool wait_for(const Condition& condition) {
    for (int wait = 0; wait < 30'000 && !condition(); ++wait)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return condition();
  }
  static nlohmann::json json_of(const CommandResult& result) {
    return nlohmann::json::parse(result.out, nullptr, false);
  }
  static core::CorrelationCurves curves(const std::string& path) {
    return formats::curves::read_set(path);
  }
  /// But for segments and traces, whose lengths a live run does not know.
  static void expect_same_sums(const std::string& a, const std::string& b) {
    const auto x = curves(a), y = curves(b);
    EXPECT_EQ(x.samples, y.samples);
    EXPECT_EQ(x.sums, y.sums);
    EXPECT_EQ(x.lead_in, y.lead_in);
    EXPECT_EQ(x.monitor_direct, y.monitor_direct);
    EXPECT_EQ(x.monitor_delayed, y.monitor_delayed);
    EXPECT_EQ(x.totals, y.totals);
    EXPECT_EQ(x.counts, y.counts);
  }

  std::mt19937_64 random = generator();
};

}  // namespace tautline::tests

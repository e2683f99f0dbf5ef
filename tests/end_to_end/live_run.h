// A `run` that goes on while a test sends to it.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "tests/end_to_end/run_command.h"
#include "tests/support/scratch.h"
#include "tests/support/seed.h"

namespace tautline::tests {

/// Needs a build with HDF5: SetUp() skips others.
class LiveRun : public ::testing::Test {
 protected:
  void SetUp() override {
#ifndef TAUTLINE_HDF5
    GTEST_SKIP() << "a build without HDF5";
#endif
    for (const char* name : {"run", "send", "correlate"})
      std::filesystem::create_directory(scratch / name);
  }
  void TearDown() override {
    if (run_pid) kill(*run_pid, SIGKILL), finish_command(*run_pid, scratch / "run");
  }

  /// `tautline run PIPELINE --set SETS...`, whose output lies in the folder "run".
  void start_pipeline(const std::string& pipeline, const std::vector<std::string>& sets,
                      const std::vector<std::string>& options = {}) {
    std::vector<std::string> words{"--device", "cpu", "--json", "run", pipeline};
    words.insert(words.end(), options.begin(), options.end());
    for (const std::string& set : sets) words.insert(words.end(), {"--set", set});
    std::filesystem::remove(scratch / "run" + "/err");  // an earlier run's
    run_pid = start_command(words, scratch / "run");
  }
  /// Its standard error so far.
  std::string run_said() const {
    return read_file(scratch / "run" + "/err");
  }
  /// Where it listens for packets, in the order of the fields, once it does.
  std::vector<std::string> listens_at(std::size_t addresses = 1) const {
    std::vector<std::string> found;
    for (int wait = 0; wait < 60'000 && found.size() < addresses; ++wait) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      const std::string err = run_said(), said = "listening at ";
      found.clear();
      for (std::size_t at = err.find(said); at != std::string::npos; at = err.find(said, at + 1))
        if (const std::size_t end = err.find(" for packets", at); end != std::string::npos)
          found.push_back(err.substr(at + said.size(), end - at - said.size()));
      siginfo_t gone{};
      if (waitid(P_PID, static_cast<id_t>(*run_pid), &gone, WEXITED | WNOHANG | WNOWAIT) != 0 ||
          gone.si_pid != 0)
        break;
    }
    EXPECT_EQ(found.size(), addresses) << run_said();
    return found;
  }
  CommandResult end_run() {
    const CommandResult result = finish_command(*run_pid, scratch / "run");
    run_pid.reset();
    return result;
  }
  /// Of a run that a signal ended, and whose outputs hold what had come (docs/guide/live.md).
  static void expect_stopped(const CommandResult& result) {
    EXPECT_EQ(result.status, kDamaged) << result.err;
    EXPECT_NE(result.err.find("stopped before its input ended"), std::string::npos) << result.err;
    EXPECT_NE(result.out.find("\"interrupted\":true"), std::string::npos) << result.out;
  }
  CommandResult correlate(const std::vector<std::string>& words) const {
    std::vector<std::string> all{"--quiet", "--device", "cpu", "correlate"};
    all.insert(all.end(), words.begin(), words.end());
    return run_command(all, scratch / "correlate");
  }

  std::mt19937_64 random = generator();
  ScratchFolder scratch;
  std::optional<pid_t> run_pid;
};

}  // namespace tautline::tests

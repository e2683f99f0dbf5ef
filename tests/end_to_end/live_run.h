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
  /// What it has said on standard error.
  std::string run_said() const {
    return read_file(scratch / "run" + "/err");
  }
  CommandResult end_run() {
    const CommandResult result = finish_command(*run_pid, scratch / "run");
    run_pid.reset();
    return result;
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

// Pipelines that search a filterbank as it comes, by standard input or by a pipe that the test writes.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/end_to_end/documented_json.h"
#include "tests/end_to_end/run_command.h"
#include "tests/end_to_end/search/search_files.h"
#include "tests/support/pipe.h"
#include "tests/support/scratch.h"
#include "tests/support/seed.h"

namespace tautline::tests {

class LiveSearch : public ::testing::Test {
 protected:
  static constexpr const char* kPipe = "[filterbank]\ntype = \"live_filterbank\"\n";

  LiveSearch() {
    shape_.nchans = 32;
    shape_.fch1 = 1500;
    shape_.foff = -8;
    shape_.tsamp = 256e-6;
    std::filesystem::create_directory(scratch_ / "run");
  }
  void TearDown() override {
    if (pid_) kill(*pid_, SIGKILL), finish_command(*pid_, scratch_ / "run");
  }
  void write_pipeline(const std::string& source, const std::string& more = "") {
    write_file(scratch_ / "live.toml", source +
                                           "[pulses]\ntype = \"search\"\ninputs = \"filterbank\"\n"
                                           "dms.range = \"0:60:1\"\nmax_width_s = 0.02\n" +
                                           more +
                                           "[list]\ntype = \"candidate_file\"\n"
                                           "inputs = \"pulses\"\npath = \"list.csv\"\n"
                                           "[events]\ntype = \"candidate_events\"\n"
                                           "inputs = \"pulses\"\npath = \"events.jsonl\"\n");
  }
  std::vector<std::string> words(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> all{"--json",     "--device", "cpu", "run", scratch_ / "live.toml",
                                 "--overwrite"};
    all.insert(all.end(), {"--set", "list.path=" + (scratch_ / "list.csv"), "--set",
                           "events.path=" + (scratch_ / "events.jsonl")});
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  // Once the run reads it; a run that ends breaks it.
  int open_pipe() const {
    signal(SIGPIPE, SIG_IGN);
    int pipe = -1;
    for (int wait = 0; wait < 6000 && pipe < 0; ++wait) {
      pipe = open((scratch_ / "pipe").c_str(), O_WRONLY | O_NONBLOCK);
      if (pipe < 0) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    if (pipe >= 0) fcntl(pipe, F_SETFL, 0);
    return pipe;
  }
  // The command with a file as its standard input.
  CommandResult run_from_file(const std::vector<std::string>& all_words,
                              const std::string& file = "a.fil") const {
    return run_shell(command_line(all_words) + " < '" + (scratch_ / file) + "'", scratch_ / "run");
  }
  // Candidates in the order of the list, without what names the file.
  std::vector<std::string> listed() const {
    std::istringstream text(read_file(scratch_ / "list.csv"));
    std::vector<std::string> lines;
    for (std::string line; std::getline(text, line);) lines.push_back(without_file(line));
    return lines;
  }
  std::vector<nlohmann::json> events() const {
    return json_lines(read_file(scratch_ / "events.jsonl"));
  }

  SigprocShape shape_;
  ScratchFolder scratch_;
  std::mt19937_64 random_ = generator();
  std::optional<pid_t> pid_;
};

}  // namespace tautline::tests

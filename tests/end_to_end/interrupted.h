// Commands that a signal ends: how soon, and what they say to programs.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/end_to_end/run_command.h"

namespace tautline::tests {

/// The command's output, and how long it took to end after a signal.
inline CommandResult interrupt(pid_t pid, int signal, const std::string& folder, double& took_s) {
  const auto sent = std::chrono::steady_clock::now();
  kill(pid, signal);
  CommandResult result = finish_command(pid, folder);
  took_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - sent).count();
  return result;
}

/// Whether the command runs and handles this signal: until then this program's handlers are the process's.
inline bool catches(pid_t pid, int signal) {
  const std::string status = read_file("/proc/" + std::to_string(pid) + "/status");
  const std::size_t at = status.find("SigCgt:");
  if (!status.starts_with("Name:\ttautline\n") || at == std::string::npos) return false;
  return std::stoull(status.substr(at + 7), nullptr, 16) >> (signal - 1) & 1;
}

/// The last line on standard output of a command with --json.
inline void expect_error_object(const CommandResult& result) {
  const std::string& out = result.out;
  ASSERT_TRUE(out.ends_with("\n")) << out << result.err;
  const std::size_t before = out.rfind('\n', out.size() - 2);
  const auto said = nlohmann::json::parse(out.substr(before == std::string::npos ? 0 : before + 1),
                                          nullptr, false);
  ASSERT_TRUE(said.is_object()) << out;
  EXPECT_EQ(said.value("schema", ""), "tautline.error") << out;
  EXPECT_EQ(said.value("status", 0), result.status) << out;
  EXPECT_FALSE(said.value("message", "").empty()) << out;
}

/// Times that runs took to end: within a second on a machine that does nothing else, which is printed. A busy one
/// delays them, so that the best of three counts and has longer; the runs themselves would go on for minutes.
class EndsWithinASecond {
 public:
  bool wants_another() const { return runs_ < 3 && best_s_ >= 1; }
  void add(double took_s) {
    best_s_ = std::min(best_s_, took_s);
    ++runs_;
  }
  double best_s() const { return best_s_; }
  static constexpr double kMost_s = 10;

 private:
  int runs_ = 0;
  double best_s_ = std::numeric_limits<double>::infinity();
};

}  // namespace tautline::tests

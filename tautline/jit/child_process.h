// A helper process that reads and writes lines, and can be ended at any time.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace tautline::jit {

/// The child reads requests from file descriptor kChildIn and writes answers to kChildOut, so that
/// output of drivers on standard output does not disturb the answers; standard error of the child
/// is kept. The child has a process group of its own: a Ctrl-C reaches the caller alone.
class ChildProcess {
 public:
  static constexpr int kChildIn = 3, kChildOut = 4;
  using Clock = std::chrono::steady_clock;

  /// `environment` is added to the environment of the caller and overrides it. Throws Error(io).
  ChildProcess(const std::vector<std::string>& arguments,
               const std::map<std::string, std::string>& environment);
  /// Ends the process, if it still runs, and waits for its end.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  /// False when the child reads no more.
  bool write_line(const std::string& line);

  enum class Read { line, end, timeout, stopped };
  Read read_line(std::string& line, Clock::time_point deadline, const std::stop_token& stop);

  void kill();
  /// Waits for the end of the process, kills it after ten seconds, and returns how it ended: "ended
  /// with status 3", "ended by signal 11 (Segmentation fault)"; with the last line that it printed.
  std::string end();

 private:
  // None when the process still runs after `limit`.
  std::optional<int> status_within(std::chrono::seconds limit);
  std::string last_words() const;

  pid_t pid_ = -1;
  int requests_ = -1, answers_ = -1, errors_ = -1;
  std::string pending_;
};

}  // namespace tautline::jit

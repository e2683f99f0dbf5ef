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

/// The child finds its requests at file descriptor kChildIn and answers to kChildOut, so that what
/// drivers print to standard output stays out of it; what it prints to standard error is kept. It
/// is in a process group of its own: a Ctrl-C reaches the caller alone.
class ChildProcess {
 public:
  static constexpr int kChildIn = 3, kChildOut = 4;
  using Clock = std::chrono::steady_clock;

  /// `environment` is set over the caller's. Throws Error(io).
  ChildProcess(const std::vector<std::string>& arguments,
               const std::map<std::string, std::string>& environment);
  /// Ends it, if it still runs, and waits for that.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  /// False when nobody reads any more.
  bool write_line(const std::string& line);

  enum class Read { line, end, timeout, stopped };
  Read read_line(std::string& line, Clock::time_point deadline, const std::stop_token& stop);

  void kill();
  /// Waits for the end, which it hurries after ten seconds, and says how it came: "ended with
  /// status 3", "ended by signal 11 (Segmentation fault)"; with the last line that it printed.
  std::string end();

 private:
  // None when it still runs after `limit`.
  std::optional<int> status_within(std::chrono::seconds limit);
  std::string last_words() const;

  pid_t pid_ = -1;
  int requests_ = -1, answers_ = -1, errors_ = -1;
  std::string pending_;
};

}  // namespace tautline::jit

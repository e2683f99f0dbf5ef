// State that all plans on one device share within a process: loaded programs, and the caller's log.
#pragma once

#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <unordered_map>

#include "tautline/core/log.h"
#include "tautline/device/program.h"

namespace tautline::device {

/// May be used by several threads at once. It belongs to a Device, so that nothing of it outlives
/// the device or is shared between two.
class SharedState {
 public:
  void set_log(core::LogSink sink);
  void log(core::LogLevel level, const std::string& text);
  /// The same, once per text, however often its cause comes.
  void log_once(core::LogLevel level, const std::string& text);
  void warn_once(const std::string& text) { log_once(core::LogLevel::warning, text); }

  /// The program that somebody still holds under this key; null when nobody does.
  std::shared_ptr<const Program> find_program(const std::string& key);
  /// Remembers `program` for as long as somebody holds it. When another thread was first, its
  /// program is given back, and should be used.
  std::shared_ptr<const Program> keep_program(const std::string& key,
                                              std::shared_ptr<const Program> program);
  /// Returns when all programs that somebody holds are loaded; throws the first one's error.
  void wait_for_programs();

 private:
  std::mutex programs_mutex_, log_mutex_;
  std::unordered_map<std::string, std::weak_ptr<const Program>> programs_;
  core::LogSink sink_;
  std::set<std::string> said_;
};

}  // namespace tautline::device

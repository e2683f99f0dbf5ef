// The levels of log messages and the callback that receives them. Without a callback messages are dropped.
#pragma once

#include <functional>
#include <string>

namespace tautline::core {

enum class LogLevel {
  debug,
  info,
  advice,  ///< what would make later runs faster: for the end of this one
  warning
};

/// Called from any thread, one call at a time.
using LogSink = std::function<void(LogLevel level, const std::string& text)>;

}  // namespace tautline::core

// The levels of log messages and the callback that receives them. Without a callback messages are dropped.
#pragma once

#include <functional>
#include <string>

namespace tautline::core {

enum class LogLevel {
  debug,
  info,
  advice,  ///< how to make later runs faster: shown at the end of a run
  warning
};

/// Called from any thread, one call at a time.
using LogSink = std::function<void(LogLevel level, const std::string& text)>;

}  // namespace tautline::core

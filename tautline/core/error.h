// The one exception type of the library.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace tautline::core {

/// The kind of an error; the command maps the kind to its exit status.
enum class ErrorKind {
  config,       ///< a field of a Config, an option or an argument is out of range
  format,       ///< a file's or packet's bytes contradict its format
  io,           ///< the operating system refused to open, read, write or rename
  unsupported,  ///< the request is legal but this build or machine cannot do it
  memory,       ///< a memory limit would be exceeded
  device        ///< a device failed
};

/// Has the field (or file and offset), the value found and the limit or expectation. what() reads
/// "FIELD: VALUE, expected LIMIT; ADVICE", without empty parts.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, std::string field, std::string value, std::string limit,
        std::string advice = {})
      : std::runtime_error(compose(field, value, limit, advice)),
        kind_(kind),
        field_(std::move(field)),
        value_(std::move(value)),
        limit_(std::move(limit)),
        advice_(std::move(advice)) {}

  ErrorKind kind() const noexcept { return kind_; }
  const std::string& field() const noexcept { return field_; }
  const std::string& value() const noexcept { return value_; }
  const std::string& limit() const noexcept { return limit_; }
  const std::string& advice() const noexcept { return advice_; }

 private:
  static std::string compose(const std::string& field, const std::string& value,
                             const std::string& limit, const std::string& advice) {
    std::string text = field;
    if (!value.empty()) text += ": " + value;
    if (!limit.empty()) text += ", expected " + limit;
    if (!advice.empty()) text += "; " + advice;
    return text;
  }

  ErrorKind kind_;
  std::string field_, value_, limit_, advice_;
};

/// Throws Error(config) for a value outside [low, high].
inline void require_range(const std::string& field, std::size_t value, std::size_t low,
                          std::size_t high, const std::string& advice = {}) {
  if (value < low || value > high)
    throw Error(ErrorKind::config, field, std::to_string(value),
                std::to_string(low) + " to " + std::to_string(high), advice);
}

}  // namespace tautline::core

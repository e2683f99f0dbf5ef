// Variables of the environment, for a while.
#pragma once

#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

namespace tautline::tests {

/// Sets a variable of the environment for the life of the object.
class Environment {
 public:
  Environment(std::string name, const std::string& value) : name_(std::move(name)) {
    if (const char* old = std::getenv(name_.c_str())) old_ = std::make_unique<std::string>(old);
    setenv(name_.c_str(), value.c_str(), 1);
  }
  ~Environment() {
    if (old_)
      setenv(name_.c_str(), old_->c_str(), 1);
    else
      unsetenv(name_.c_str());
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  std::string name_;
  std::unique_ptr<std::string> old_;
};

}  // namespace tautline::tests

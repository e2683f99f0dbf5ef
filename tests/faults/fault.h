// Which call of a driver or the system fails: read by the stand-ins for these from TAUTLINE_TEST_FAULT.
//
//   trap NAME N      the N-th launch of a kernel whose name contains NAME ("*": any) brings the
//                    device down
//   memory N         the N-th allocation of device memory finds no room
//   pinned N         the same of pinned host memory
//   build NAME       a kernel file whose name contains NAME does not compile; with OpenCL, which
//                    knows no names of files, a text that contains NAME
//   read NAME N      from the N-th on, no read of a file whose path contains NAME succeeds
#pragma once

#include <atomic>
#include <cstdlib>
#include <sstream>
#include <string>

namespace tautline::tests {

class Fault {
 public:
  Fault() {
    const char* text = std::getenv("TAUTLINE_TEST_FAULT");
    if (text == nullptr) return;
    std::istringstream words(text);
    words >> kind_;
    if (kind_ == "trap" || kind_ == "build" || kind_ == "read") words >> name_;
    int count = 0;
    words >> count;
    left_ = count;
  }

  /// Whether this launch, allocation, compilation or read is one that fails.
  bool strikes(const std::string& kind, const std::string& name = {}) {
    if (kind != kind_) return false;
    if (!name_.empty() && name_ != "*" && name.find(name_) == std::string::npos) return false;
    if (kind_ == "build") return true;
    const int left = --left_;
    return left == 0 || (kind_ == "read" && left < 0);
  }

 private:
  std::string kind_, name_;
  std::atomic<int> left_{0};
};

}  // namespace tautline::tests

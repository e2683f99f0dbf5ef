// Remembers the kernels launched last and the first failure of a device, for error messages: devices report failures
// late and more than once.
#pragma once

#include <atomic>
#include <mutex>
#include <string>

namespace tautline::device {

/// May be used by several threads at once.
class FaultRecord {
 public:
  /// Called with each kernel before a queue of the device takes it: another thread may meet its failure first.
  void note_launch(const std::string& kernel);
  /// ", after kernel X", or nothing before the first launch. Work is asynchronous: when a copy, a
  /// wait or another launch (`what`) fails, the kernel that was launched before is the likely one.
  std::string after_kernel(const std::string& what) const;

  /// The device is lost; `what` says how, `advice` what to do. The first call counts.
  void fail(const std::string& what, const std::string& advice = "start the program again");
  /// Throws Error(device) naming `device` and `what` after a failure, and says which that was:
  /// another thread may come here before the one that met the failure has told anyone.
  void require_usable(const std::string& device, const std::string& what) const;

 private:
  std::atomic<bool> failed_{false};
  mutable std::mutex mutex_;
  std::string last_kernel_, kernel_before_, first_failure_, advice_;
};

}  // namespace tautline::device

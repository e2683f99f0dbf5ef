#include "tautline/device/fault_record.h"

#include <utility>

#include "tautline/core/error.h"

namespace tautline::device {

void FaultRecord::note_launch(const std::string& kernel) {
  const std::lock_guard lock(mutex_);
  kernel_before_ = std::exchange(last_kernel_, kernel);
}

std::string FaultRecord::after_kernel(const std::string& what) const {
  const std::lock_guard lock(mutex_);
  const bool itself = !last_kernel_.empty() && what.starts_with("kernel " + last_kernel_);
  const std::string& kernel = itself ? kernel_before_ : last_kernel_;
  return kernel.empty() ? "" : ", after kernel " + kernel;
}

void FaultRecord::fail(const std::string& what, const std::string& advice) {
  const std::lock_guard lock(mutex_);
  if (!failed_) {
    first_failure_ = what;
    advice_ = advice;
  }
  failed_ = true;
}

void FaultRecord::require_usable(const std::string& device, const std::string& what) const {
  if (!failed_) return;
  const std::lock_guard lock(mutex_);
  // The failure first: what it names first is what failed.
  throw core::Error(
      core::ErrorKind::device, device,
      "refused after an earlier failure of the device, " + first_failure_ + "; refused: " + what,
      "", advice_);
}

}  // namespace tautline::device

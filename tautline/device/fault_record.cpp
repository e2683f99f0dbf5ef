#include "tautline/device/fault_record.h"

#include "tautline/core/error.h"

namespace tautline::device {

void FaultRecord::note_launch(const std::string& kernel) {
  const std::lock_guard lock(mutex_);
  last_kernel_ = kernel;
}

std::string FaultRecord::after_kernel() const {
  const std::lock_guard lock(mutex_);
  return last_kernel_.empty() ? "" : ", after kernel " + last_kernel_;
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
  throw core::Error(core::ErrorKind::device, device + ": " + what,
                    "refused after an earlier failure of the device, " + first_failure_, "",
                    advice_);
}

}  // namespace tautline::device

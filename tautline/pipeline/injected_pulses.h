// Pulses that were put into a filterbank on its way.
#pragma once

#include <cstddef>
#include <mutex>
#include <vector>

namespace tautline::pipeline {

struct InjectedPulse {
  double time_s =
      0;          ///< of its middle at the highest channel's centre, from sample 0's leading edge
  double dm = 0;  ///< pc cm^-3
  double width_s = 0;  ///< full width at half maximum
  double snr = 0;      ///< sqrt(sum p^2) / sigma of the series dedispersed at `dm`, before rounding
  bool whole = false;  ///< no part of it is missing
};

/// The pulses so far: one thread adds, others look.
class InjectedPulses {
 public:
  std::size_t add(const InjectedPulse& pulse) {
    const std::lock_guard lock(mutex_);
    pulses_.push_back(pulse);
    return pulses_.size() - 1;
  }
  void set_whole(std::size_t pulse) {
    const std::lock_guard lock(mutex_);
    pulses_.at(pulse).whole = true;
  }
  std::vector<InjectedPulse> all() const {
    const std::lock_guard lock(mutex_);
    return pulses_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<InjectedPulse> pulses_;
};

}  // namespace tautline::pipeline

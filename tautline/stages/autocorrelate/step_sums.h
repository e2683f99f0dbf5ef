// Sums of each sensor's counts over steps of time, in the memory of a device: what the trace of a measurement is made
// of.
//
// | counts | [time][sensor] | u8, u16, u32 or f32    | read                  |
// | sums   | [step][sensor] | integers exact; double | added to              |
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "tautline/core/sample_type.h"
#include "tautline/core/sample_view.h"
#include "tautline/device/device.h"

namespace tautline::stages::autocorrelate {

class StepSums {
 public:
  /// For `steps` steps of `sensors` sensors; the sums are unspecified until write(). Throws Error(memory).
  StepSums(const device::Device& device, core::SampleType type, std::size_t sensors,
           std::size_t steps);
  static std::size_t device_bytes(std::size_t sensors, std::size_t steps) {
    return sensors * steps * sizeof(double);
  }

  /// Counts in the device's memory, times and sensors in order; the first time is sample `first_sample`, of step
  /// first_sample / step_samples.
  void add(device::Queue& queue, const core::SampleView<2>& counts, std::uint64_t first_sample,
           std::uint64_t step_samples);
  /// All sums; integers below 2^53 are exact. Both wait for the queue.
  void read(device::Queue& queue, std::span<double> sums) const;
  void write(device::Queue& queue, std::span<const double> sums);

 private:
  std::size_t sensors_;
  bool floats_;
  std::shared_ptr<const device::Kernel> kernel_;
  device::Buffer sums_;
};

}  // namespace tautline::stages::autocorrelate

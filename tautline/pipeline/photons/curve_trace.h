// The counts of each sensor over time, in up to a thousand steps of equal length.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "tautline/stages/autocorrelate/step_sums.h"
#include "tautline/stages/autocorrelate/tags.h"

namespace tautline::pipeline {

/// Where a run becomes longer than planned, neighbouring steps are joined: memory does not grow, and the trace depends
/// on the counts alone, not on block sizes.
class CurveTrace {
 public:
  /// `planned_samples` determines the length of steps; 0: unknown, steps of one sample at first.
  CurveTrace(std::size_t sensors, std::uint64_t planned_samples);
  /// Most memory of a trace of so many sensors; the device that has the counts takes as much again.
  static std::size_t bytes(std::size_t sensors);
  /// Counts will come in the memory of this device.
  void use_device(const device::Device& device, core::SampleType type);

  /// Adds dense [time][sensor] counts that begin with sample `first_sample`; on the threads of `queue`, or on the
  /// device of use_device().
  void add(device::Queue& queue, const core::SampleView<2>& counts, std::uint64_t first_sample);
  void add_tags(std::span<const stages::autocorrelate::Tag> tags);

  /// Before counts() and exchange(): copies the device's values to the host. Waits for the queue.
  void collect(device::Queue& queue);
  /// Samples of a step; 0: no trace, the array is too large for one.
  std::uint64_t step_samples() const { return step_; }
  std::span<const double> values() const { return values_; }  ///< counts [step][sensor]
  double counts(std::uint64_t step, std::size_t sensor) const {
    return values_[static_cast<std::size_t>(step) * sensors_ + sensor];
  }

  template <class Archive>
  void exchange(Archive& archive) {
    archive(step_);
    archive(values_);
    on_device_newer_ = false, on_host_newer_ = true;
  }
  /// Whether the loaded values are of such a trace.
  bool whole() const { return step_ == 0 ? values_.empty() : values_.size() == steps_ * sensors_; }

 private:
  bool has_room(std::uint64_t sample) const { return sample < step_ * steps_; }
  void make_room(std::uint64_t sample) {
    while (!has_room(sample)) join_steps();
  }
  std::size_t samples_until_full(std::size_t samples, std::uint64_t first_sample) const;
  void add_on_device(device::Queue& queue, const core::SampleView<2>& counts,
                     std::uint64_t first_sample);
  void join_steps();
  template <class Count>
  void add_part(const Count* rows, std::uint64_t first_sample, std::size_t samples,
                std::size_t sensor, std::size_t columns);

  std::size_t sensors_, steps_;
  std::uint64_t step_ = 0;
  std::vector<double> values_;  // [step][sensor]
  std::unique_ptr<stages::autocorrelate::StepSums> on_device_;
  bool on_device_newer_ = false, on_host_newer_ = true;  // than the values on the other side
};

}  // namespace tautline::pipeline

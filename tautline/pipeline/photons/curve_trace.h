// How many counts each sensor had over time, in up to a thousand steps of equal length.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tautline/stages/autocorrelate/tags.h"

namespace tautline::pipeline {

/// Where a run goes on beyond what was planned, neighbouring steps are joined: memory stays the same,
/// and what is held depends on the counts alone, not on how they were split.
class CurveTrace {
 public:
  /// `planned_samples` are what the steps are cut by; 0: not known, steps of one sample at first.
  CurveTrace(std::size_t sensors, std::uint64_t planned_samples);
  /// The most that a trace of so many sensors takes.
  static std::size_t bytes(std::size_t sensors);

  /// Dense [time][sensor], the first of them `first_sample`. On the threads of `queue`.
  void add(device::Queue& queue, const core::SampleView<2>& counts, std::uint64_t first_sample);
  void add_tags(std::span<const stages::autocorrelate::Tag> tags);

  /// Samples of a step; 0: no trace, the array is too large for one.
  std::uint64_t step_samples() const { return step_; }
  double counts(std::uint64_t step, std::size_t sensor) const {
    return values_[static_cast<std::size_t>(step) * sensors_ + sensor];
  }

  template <class Archive>
  void exchange(Archive& archive) {
    archive(step_);
    archive(values_);
  }
  /// Whether what was loaded is of such a trace.
  bool whole() const { return step_ == 0 ? values_.empty() : values_.size() == steps_ * sensors_; }

 private:
  void make_room(std::uint64_t sample) {
    while (sample >= step_ * steps_) join_steps();
  }
  void join_steps();
  template <class Count>
  void add_part(const Count* rows, std::uint64_t first_sample, std::size_t samples,
                std::size_t sensor, std::size_t columns);

  std::size_t sensors_, steps_;
  std::uint64_t step_ = 0;
  std::vector<double> values_;  // [step][sensor]
};

}  // namespace tautline::pipeline

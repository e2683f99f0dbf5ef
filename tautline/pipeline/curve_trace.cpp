#include "tautline/pipeline/curve_trace.h"

namespace tautline::pipeline {

namespace {

constexpr std::size_t kSteps = 1000;
// Of all sensors together, 32 MiB: large arrays have shorter traces, or none.
constexpr std::size_t kMaxValues = std::size_t{1} << 22;
constexpr std::size_t kFewestSteps = 10;

std::size_t steps_of(std::size_t sensors) {
  const std::size_t steps = std::min(kSteps, kMaxValues / sensors);
  return steps < kFewestSteps ? 0 : steps;
}

}  // namespace

CurveTrace::CurveTrace(std::size_t sensors, std::uint64_t planned_samples)
    : sensors_(sensors), steps_(steps_of(sensors)) {
  if (steps_ == 0) return;
  step_ = std::max<std::uint64_t>(1, (planned_samples + steps_ - 1) / steps_);
  values_.assign(steps_ * sensors_, 0);
}

std::size_t CurveTrace::bytes(std::size_t sensors) {
  return steps_of(sensors) * sensors * sizeof(double);
}

void CurveTrace::add_tags(std::span<const stages::autocorrelate::Tag> tags) {
  if (step_ == 0) return;
  for (const auto& tag : tags) {
    make_room(tag.bin);
    values_[tag.bin / step_ * sensors_ + tag.sensor] += 1;
  }
}

void CurveTrace::join_steps() {
  for (std::size_t n = 0; 2 * n < steps_; ++n)
    for (std::size_t s = 0; s < sensors_; ++s) {
      const double second = 2 * n + 1 < steps_ ? values_[(2 * n + 1) * sensors_ + s] : 0;
      values_[n * sensors_ + s] = values_[2 * n * sensors_ + s] + second;
    }
  const std::size_t joined = (steps_ + 1) / 2;
  std::fill(values_.begin() + static_cast<std::ptrdiff_t>(joined * sensors_), values_.end(), 0.0);
  step_ *= 2;
}

}  // namespace tautline::pipeline

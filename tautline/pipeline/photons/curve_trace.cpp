#include "tautline/pipeline/photons/curve_trace.h"

#include <algorithm>
#include <type_traits>

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

void CurveTrace::add(const core::SampleView<2>& samples, std::uint64_t first_sample) {
  if (step_ == 0) return;
  core::with_type<std::uint8_t, std::uint16_t, std::uint32_t, float>(
      samples, "samples", [&]<class Count>(const core::View<const Count, 2>& counts) {
        using Sum = std::conditional_t<std::is_same_v<Count, float>, double, std::uint32_t>;
        // 32-bit sums of a few times fill vectors; no 256 counts of u16 overflow them.
        const std::size_t together = sizeof(Count) < 4 ? 256 : 1;
        std::vector<Sum> sums(sensors_);
        for (std::size_t t = 0; t < counts.extent(0);) {
          make_room(first_sample + t);
          const std::uint64_t step = (first_sample + t) / step_;
          const auto end = static_cast<std::size_t>(std::min<std::uint64_t>(
              {counts.extent(0), t + together, (step + 1) * step_ - first_sample}));
          std::fill(sums.begin(), sums.end(), Sum{});
          for (; t < end; ++t) {
            const Count* row = counts.data() + t * sensors_;
            for (std::size_t s = 0; s < sensors_; ++s) sums[s] += static_cast<Sum>(row[s]);
          }
          double* to = values_.data() + step * sensors_;
          for (std::size_t s = 0; s < sensors_; ++s) to[s] += static_cast<double>(sums[s]);
        }
      });
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

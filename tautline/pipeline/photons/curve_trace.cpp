#include "tautline/pipeline/photons/curve_trace.h"

#include <algorithm>
#include <type_traits>

#include "tautline/core/integers.h"

namespace tautline::pipeline {

namespace {

constexpr std::size_t kSteps = 1000;
// Most bytes for all sensors together, 32 MiB: large arrays have shorter traces, or none.
constexpr std::size_t kMaxValues = std::size_t{1} << 22;
constexpr std::size_t kFewestSteps = 10;

// The most rows and sensors that are summed together: 256 counts of u8 do not overflow 16 bits, nor counts of u16 32
// bits. Long rows are read faster: one core summed 2.4 GB/s of 128 columns of rows of 1,024 bytes, and 4.4 GB/s of
// whole rows.
constexpr std::size_t kRowsTogether = 256, kColumns = 1024, kFewColumns = 64;

template <class Count>
using TraceSum =
    std::conditional_t<sizeof(Count) == 1, std::uint16_t,
                       std::conditional_t<sizeof(Count) == 2, std::uint32_t, std::uint64_t>>;

// Four rows at a time, so that sums are rarely loaded and stored.
template <class Count>
void sum_trace_rows(const Count* from, std::size_t pitch, std::size_t rows, std::size_t columns,
                    TraceSum<Count>* sums) {
  std::size_t r = 0;
  for (; r + 4 <= rows; r += 4, from += 4 * pitch) {
    const Count *a = from, *b = from + pitch, *c = b + pitch, *d = c + pitch;
    for (std::size_t s = 0; s < columns; ++s)
      sums[s] = static_cast<TraceSum<Count>>(sums[s] + static_cast<TraceSum<Count>>(a[s]) + b[s] +
                                             static_cast<TraceSum<Count>>(c[s]) + d[s]);
  }
  for (; r < rows; ++r, from += pitch)
    for (std::size_t s = 0; s < columns; ++s)
      sums[s] = static_cast<TraceSum<Count>>(sums[s] + from[s]);
}

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

void CurveTrace::use_device(const device::Device& device, core::SampleType type) {
  if (step_ > 0)
    on_device_ = std::make_unique<stages::autocorrelate::StepSums>(device, type, sensors_, steps_);
}

void CurveTrace::collect(device::Queue& queue) {
  if (!on_device_newer_) return;
  on_device_->read(queue, values_);
  on_device_newer_ = false;
}

// The number of samples that fit before steps must be joined.
std::size_t CurveTrace::samples_until_full(std::size_t samples, std::uint64_t first_sample) const {
  return static_cast<std::size_t>(std::min<std::uint64_t>(samples, step_ * steps_ - first_sample));
}

void CurveTrace::add_on_device(device::Queue& queue, const core::SampleView<2>& counts,
                               std::uint64_t first_sample) {
  for (std::size_t t = 0; t < counts.extent(0);) {
    if (!has_room(first_sample + t)) {
      collect(queue);
      make_room(first_sample + t);
      on_host_newer_ = true;
    }
    if (on_host_newer_) on_device_->write(queue, values_);
    on_host_newer_ = false, on_device_newer_ = true;
    const std::size_t count = samples_until_full(counts.extent(0) - t, first_sample + t);
    on_device_->add(queue, counts.slice(0, t, count), first_sample + t, step_);
    t += count;
  }
}

// For contiguous sensors, whole numbers are summed in any order and are exact; floats are added in order of time.
void CurveTrace::add(device::Queue& queue, const core::SampleView<2>& samples,
                     std::uint64_t first_sample) {
  if (step_ == 0) return;
  if (on_device_ != nullptr) return add_on_device(queue, samples, first_sample);
  core::with_type<std::uint8_t, std::uint16_t, std::uint32_t, float>(
      samples, "samples", [&]<class Count>(const core::View<const Count, 2>& counts) {
        for (std::size_t t = 0; t < counts.extent(0);) {
          make_room(first_sample + t);
          const std::size_t end = t + samples_until_full(counts.extent(0) - t, first_sample + t);
          const std::size_t columns =
              std::clamp(core::divide_up(sensors_, queue.workers()), kFewColumns, kColumns);
          const std::size_t parts = core::divide_up(sensors_, columns);
          queue.parallel_for(parts, 1, [&](std::size_t first, std::size_t last, std::size_t) {
            for (std::size_t part = first; part < last; ++part)
              add_part(counts.data() + t * sensors_, first_sample + t, end - t, part * columns,
                       std::min(columns, sensors_ - part * columns));
          });
          t = end;
        }
      });
}

// Adds `columns` sensors from `sensor` on.
template <class Count>
void CurveTrace::add_part(const Count* rows, std::uint64_t first_sample, std::size_t samples,
                          std::size_t sensor, std::size_t columns) {
  // Rows of few sensors: several rows side by side fill vectors.
  const std::size_t beside = std::is_same_v<Count, float> || columns < sensors_
                                 ? 1
                                 : std::max<std::size_t>(1, 2 * kFewColumns / sensors_);
  for (std::size_t t = 0; t < samples;) {
    const std::uint64_t step = (first_sample + t) / step_;
    const auto end = static_cast<std::size_t>(
        std::min<std::uint64_t>(samples, (step + 1) * step_ - first_sample));
    double* to = values_.data() + step * sensors_ + sensor;
    while (t < end) {
      const std::size_t side = end - t < beside ? 1 : beside;
      const std::size_t count = std::min((end - t) / side, kRowsTogether);
      const Count* from = rows + t * sensors_ + sensor;
      if constexpr (std::is_same_v<Count, float>) {
        for (std::size_t r = 0; r < count; ++r)
          for (std::size_t c = 0; c < columns; ++c) to[c] += from[r * sensors_ + c];
      } else {
        TraceSum<Count> sums[kColumns];
        std::fill_n(sums, side * columns, TraceSum<Count>{});
        sum_trace_rows(from, side * sensors_, count, side * columns, sums);
        for (std::size_t k = 0; k < side; ++k)
          for (std::size_t c = 0; c < columns; ++c)
            to[c] += static_cast<double>(sums[k * columns + c]);
      }
      t += count * side;
    }
  }
}

void CurveTrace::add_tags(std::span<const stages::autocorrelate::Tag> tags) {
  if (step_ == 0) return;
  while (!tags.empty()) {
    make_room(tags[0].bin);
    const std::uint64_t step = tags[0].bin / step_, end = (step + 1) * step_;
    const auto next = std::partition_point(tags.begin(), tags.end(),
                                           [&](const auto& tag) { return tag.bin < end; });
    const auto part = tags.first(static_cast<std::size_t>(next - tags.begin()));
    double* const to = values_.data() + step * sensors_;
    if (sensors_ == 1) {
      *to += static_cast<double>(part.size());
    } else {
      for (const auto& tag : part) to[tag.sensor] += 1;
    }
    tags = tags.subspan(part.size());
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

#include "tautline/stages/detect/gpu/state.h"

#include <utility>

#include "tautline/core/integers.h"

namespace tautline::stages::detect {

namespace {

constexpr std::size_t kSegmentsOfGroup = 32;

}  // namespace

GpuState::GpuState(std::shared_ptr<const GpuSetting> setting, device::Queue& queue)
    : setting_(std::move(setting)),
      schedule_(setting_->config, setting_->sizes, setting_->rings),
      peaks_(setting_->config, setting_->sizes),
      groups_(setting_->config.links, setting_->sizes.widest(), setting_->config.trials),
      over_(setting_->config.trials * setting_->sizes.widths.size()),
      fetch_queue_(setting_->device->make_queue()),
      stepped_(setting_->device->make_event()) {
  const GpuSetting& s = *setting_;
  const device::Device& device = *s.device;
  const std::size_t trials = s.config.trials, widths = s.sizes.widths.size();
  const std::size_t batch = s.batch_jobs(), sets = s.measures_widths() ? batch : 1;
  x_ = device.allocate(trials * s.x_stride() * 4);
  y_ = device.allocate(trials * s.rings.y_samples * 4);
  lengths_ = device.allocate(trials * 8);
  for (int half = 0; half < 2; ++half) {
    sums_[half] = device.allocate(trials * kSumLanes * 8);
    counts_[half] = device.allocate(trials * kSumLanes * 4);
  }
  segment_means_ = device.allocate(trials * s.rings.mean_slots * 8);
  means_ = device.allocate(trials * s.rings.mean_slots * 8);
  missing_ = device.allocate(kCounterBytes);
  emit_jobs_ = device.allocate(trials * kJobWords * 8);
  jobs_ = device.allocate(s.step_jobs() * kJobWords * 8);
  gather_jobs_ = device.allocate(kMostGathers * kGatherWords * 8);
  gathered_ = device.allocate(s.gathered() * 4);
  sigmas_ = device.allocate(trials * s.rings.sigma_slots * 8);
  low_ = device.allocate(batch * s.sums_stride() * 4);
  high_ = device.allocate(batch * s.sums_stride() * 4);
  medians_ = device.allocate(batch * 4);
  kinds_ = device.allocate(batch * 4);
  widths_ = device.allocate(widths * 4);
  least_ = device.allocate(sets * widths * 8);
  per_unit_ = device.allocate(sets * widths * 8);
  if (s.measures_widths()) squares_ = device.allocate(batch * widths * kSquareWords * 8);
  over_counts_ = device.allocate(trials * widths * 8);
  records_ = device.allocate(s.records() * kRecordBytes);

  host_emit_jobs_ = device.allocate_pinned(emit_jobs_.bytes());
  host_jobs_ = device.allocate_pinned(jobs_.bytes());
  host_gather_jobs_ = device.allocate_pinned(gather_jobs_.bytes());
  host_gathered_ = device.allocate_pinned(gathered_.bytes());
  host_sigmas_ = device.allocate_pinned(sigmas_.bytes());
  host_records_ = device.allocate_pinned(std::min(s.records(), kFetched) * kRecordBytes);
  host_counters_ = device.allocate_pinned(kCounterBytes);
  host_over_ = device.allocate_pinned(over_counts_.bytes());
  host_least_ = device.allocate_pinned(least_.bytes());
  host_per_unit_ = device.allocate_pinned(per_unit_.bytes());
  if (s.measures_widths()) host_squares_ = device.allocate_pinned(squares_.bytes());

  std::vector<std::uint64_t> lengths(trials, ~std::uint64_t{0});
  for (std::size_t t = 0; t < trials && !s.config.lengths.empty(); ++t)
    lengths[t] = s.config.lengths[t];
  const std::vector<std::uint32_t> list(s.sizes.widths.begin(), s.sizes.widths.end());
  queue.copy(lengths_.data(), lengths.data(), lengths_.bytes());
  queue.copy(widths_.data(), list.data(), widths_.bytes());
  queue.copy(least_.data(), s.scales.least_sum.data(), widths * 8);
  queue.copy(per_unit_.data(), s.scales.snr_per_unit.data(), widths * 8);
  queue.fill(missing_.data(), 0, missing_.bytes());
  queue.fill(over_counts_.data(), 0, over_counts_.bytes());
  queue.synchronise();
}

// The last step must not write to memory that has been freed.
GpuState::~GpuState() {
  if (!pending_) return;
  try {
    stepped_->synchronise();
  } catch (...) {  // NOLINT(bugprone-empty-catch): the queue reports the error to its next user
  }
}

std::vector<Pulse> GpuState::take() {
  std::sort(pulses_.begin(), pulses_.end(), [](const Pulse& a, const Pulse& b) {
    return std::pair(a.first, a.trial) < std::pair(b.first, b.trial);
  });
  return std::exchange(pulses_, {});
}

void GpuState::execute(device::Queue& queue, const void* series, std::size_t stride,
                       std::size_t samples) {
  counters_.samples += samples;
  if (samples == 0) return;
  copy_in(queue, series, stride, samples);
  sum_segments(queue, samples);
  schedule_.receive(samples);
  advance(queue);
}

InputArea GpuState::input_area() const {
  if (!setting_->config.in_place) return {};
  const std::size_t ring = setting_->rings.segment_slots * setting_->sizes.segment;
  return {x_.as<std::byte>() + schedule_.received() % ring * 4, setting_->x_stride(),
          setting_->config.max_samples};
}

// Copies series to the ring. Series in input_area() are there already, except for samples after the
// ring's end, which are copied to its start.
void GpuState::copy_in(device::Queue& queue, const void* series, std::size_t stride,
                       std::size_t samples) {
  const std::size_t ring = setting_->rings.segment_slots * setting_->sizes.segment;
  const std::size_t x_stride = setting_->x_stride();
  const auto* from = static_cast<const std::byte*>(series);
  const auto place = static_cast<std::size_t>(schedule_.received() % ring);
  const bool there = setting_->config.in_place && series == input_area().data && stride == x_stride;
  for (std::size_t done = there ? std::min(samples, ring - place) : 0; done < samples;) {
    const std::size_t to = (place + done) % ring;
    const std::size_t count = std::min(samples - done, ring - to);
    queue.copy_rows(x_.as<std::byte>() + to * 4, x_stride * 4, from + done * 4, stride * 4,
                    count * 4, setting_->config.trials);
    done += count;
  }
}

void GpuState::finish(device::Queue& queue) {
  if (finished_) return;
  finished_ = true;
  schedule_.finish();
  advance(queue);
  if (pending_) collect();
}

void GpuState::sum_segments(device::Queue& queue, std::size_t samples) {
  const GpuSetting& s = *setting_;
  const std::uint64_t received = schedule_.received(), segment = s.sizes.segment;
  const std::uint64_t first = received / segment, begun = received % segment;
  const std::size_t touched = core::divide_up(begun + samples, segment);
  const device::Argument arguments[] = {x_.data(),
                                        lengths_.data(),
                                        sums_[half_].data(),
                                        counts_[half_].data(),
                                        sums_[1 - half_].data(),
                                        counts_[1 - half_].data(),
                                        segment_means_.data(),
                                        received,
                                        core::u32(samples),
                                        core::u32(segment),
                                        core::u32(begun),
                                        core::u32(first % s.rings.segment_slots),
                                        core::u32(s.rings.segment_slots),
                                        std::uint64_t{s.x_stride()},
                                        core::u32(first % s.rings.mean_slots),
                                        core::u32(s.rings.mean_slots),
                                        core::u32(touched),
                                        core::u32(s.config.trials)};
  queue.launch(*s.kernels.sum_segments,
               {.groups = {core::divide_up(s.config.trials * touched, kSegmentsOfGroup), 1, 1},
                .threads = {256, 1, 1}},
               arguments);
  half_ = 1 - half_;
}

// Launches the steps that the new samples allow. Collects a step only before the next is launched,
// so that the device computes while the caller prepares the next samples.
void GpuState::advance(device::Queue& queue) {
  for (;;) {
    Step step;
    if (!schedule_.next(step)) return;
    if (pending_) collect();
    step_ = std::move(step);
    launch(queue);
  }
}

}  // namespace tautline::stages::detect

#include "tautline/stages/detect/gpu/state.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "tautline/core/integers.h"

namespace tautline::stages::detect {

namespace {

constexpr std::size_t kSegmentsOfGroup = 32;

}  // namespace

GpuState::GpuState(std::shared_ptr<const GpuSetting> setting, device::Queue& queue)
    : BaseState(*setting,
                fmt::format("gpu {} {}", setting->config.max_samples, setting->config.in_place)),
      setting_(std::move(setting)),
      schedule_(setting_->config, setting_->sizes, setting_->rings),
      peaks_(setting_->config, setting_->sizes),
      groups_(*setting_),
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
  refine_jobs_ = device.allocate(kMostRefined * kRefineWords * 8);
  middles_ = device.allocate(kMostRefined * kMiddleWords * 8);
  refined_sums_ = device.allocate(s.refined_sums() * 8);
  sigmas_ = device.allocate(trials * s.rings.sigma_slots * 8);
  low_ = device.allocate(batch * s.sums_stride() * 4);
  high_ = device.allocate(batch * s.sums_stride() * 4);
  medians_ = device.allocate(batch * 4);
  kinds_ = device.allocate(batch * 4);
  widths_ = device.allocate(widths * 4);
  factors_ = device.allocate(widths * 8);
  least_ = device.allocate(sets * widths * 8);
  per_unit_ = device.allocate(sets * widths * 8);
  if (s.measures_widths()) squares_ = device.allocate(batch * widths * kSquareWords * 8);
  hits_ = device.allocate(batch * s.tiles() * (widths + 1) * 4);
  over_counts_ = device.allocate(trials * widths * 8);
  records_ = device.allocate(s.records() * kRecordBytes);

  host_emit_jobs_ = device.allocate_pinned(emit_jobs_.bytes());
  host_jobs_ = device.allocate_pinned(jobs_.bytes());
  host_refine_jobs_ = device.allocate_pinned(refine_jobs_.bytes());
  host_middles_ = device.allocate_pinned(middles_.bytes());
  host_sigmas_ = device.allocate_pinned(sigmas_.bytes());
  host_records_ = device.allocate_pinned(std::min(s.records(), kFetched) * kRecordBytes);
  host_counters_ = device.allocate_pinned(kCounterBytes);
  host_over_ = device.allocate_pinned(over_counts_.bytes());
  host_least_ = device.allocate_pinned(least_.bytes());
  host_per_unit_ = device.allocate_pinned(per_unit_.bytes());
  if (s.measures_widths()) host_squares_ = device.allocate_pinned(squares_.bytes());

  const std::vector<std::uint64_t> lengths = planned_lengths();
  const std::vector<std::uint32_t> list(s.sizes.widths.begin(), s.sizes.widths.end());
  queue.copy(lengths_.data(), lengths.data(), lengths_.bytes());
  queue.copy(widths_.data(), list.data(), widths_.bytes());
  std::vector<double> factors(widths);
  std::transform(list.begin(), list.end(), factors.begin(), snr_factor);
  queue.copy(factors_.data(), factors.data(), factors_.bytes());
  queue.copy(least_.data(), s.scales.least_sum.data(), widths * 8);
  queue.copy(per_unit_.data(), s.scales.snr_per_unit.data(), widths * 8);
  queue.fill(missing_.data(), 0, missing_.bytes());
  queue.fill(over_counts_.data(), 0, over_counts_.bytes());
  queue.synchronise();
}

// The last call must not write to memory that has been freed.
GpuState::~GpuState() {
  if (grouping_.valid()) grouping_.wait();
  try {
    stepped_->synchronise();
  } catch (...) {  // NOLINT(bugprone-empty-catch): the queue reports the error to its next user
  }
}

void GpuState::search(device::Queue& queue, const core::SampleView<2>& series) {
  copy_in(queue, series);
  sum_segments(queue, series.extent(1));
  schedule_.receive(series.extent(1));
  advance(queue);
  queue.record(*stepped_);
}

void GpuState::search_rest(device::Queue& queue) {
  schedule_.finish();
  advance(queue);
  if (pending_) collect();
  join();
}

// Drops what has not been taken.
void GpuState::stop() {
  if (grouping_.valid()) grouping_.wait();
  grouping_ = {};
  grouped_.clear();
  stepped_->synchronise();
  pending_ = false;
}

std::vector<std::uint64_t> GpuState::planned_lengths() const {
  const Config& config = setting_->config;
  return config.lengths.empty() ? std::vector(config.trials, ~std::uint64_t{0}) : config.lengths;
}

void GpuState::set_lengths(device::Queue& queue, std::span<const std::uint64_t> lengths) {
  schedule_.set_lengths(lengths);
  queue.copy(lengths_.data(), lengths.data(), lengths_.bytes());
  queue.synchronise();
  shortened_ = true;
}

void GpuState::clear() {
  const GpuSetting& s = *setting_;
  stop();
  if (shortened_) set_lengths(*fetch_queue_, planned_lengths());
  shortened_ = false;
  searched_ = detections_ = 0;
  schedule_ = GpuSchedule(s.config, s.sizes, s.rings);
  peaks_ = PeakLists(s.config, s.sizes);
  groups_ = Groups(s);
  fetch_queue_->fill(missing_.data(), 0, missing_.bytes());
  fetch_queue_->fill(over_counts_.data(), 0, over_counts_.bytes());
  fetch_queue_->synchronise();
}

template <class Archive>
void GpuState::exchange_host(Archive& archive) {
  archive(half_, searched_, detections_);
  schedule_.exchange(archive);
  peaks_.exchange(archive);
  groups_.exchange(archive);
}

// What a step leaves for the next ones.
std::array<const device::Buffer*, 9> GpuState::kept() const {
  return {&x_,     &y_,       &sums_[half_], &counts_[half_], &segment_means_,
          &means_, &missing_, &sigmas_,      &over_counts_};
}

void GpuState::exchange(core::ByteWriter& archive) {
  stepped_->synchronise();
  if (pending_) collect();
  join();
  exchange_host(archive);
  for (const device::Buffer* buffer : kept()) {
    std::vector<std::byte> bytes(buffer->bytes());
    fetch_queue_->copy(bytes.data(), buffer->data(), bytes.size());
    fetch_queue_->synchronise();
    archive(bytes);
  }
}

void GpuState::exchange(core::ByteReader& archive) {
  stop();
  exchange_host(archive);
  for (const device::Buffer* buffer : kept()) {
    std::vector<std::byte> bytes;
    archive(bytes);
    if (bytes.size() != buffer->bytes()) archive.refuse();
    fetch_queue_->copy(buffer->data(), bytes.data(), bytes.size());
    fetch_queue_->synchronise();
  }
  fetch_queue_->copy(host_sigmas_.data(), sigmas_.data(), sigmas_.bytes());
  fetch_queue_->synchronise();
}

InputArea GpuState::input_area() const {
  if (!setting_->config.in_place) return {};
  const std::size_t ring = setting_->rings.segment_slots * setting_->sizes.segment;
  return {x_.as<std::byte>() + schedule_.received() % ring * 4, setting_->x_stride(),
          setting_->config.max_samples};
}

// Copies series to the ring. Series in input_area() are there already, except for samples after the
// ring's end, which are copied to its start.
void GpuState::copy_in(device::Queue& queue, const core::SampleView<2>& series) {
  const std::size_t ring = setting_->rings.segment_slots * setting_->sizes.segment;
  const std::size_t x_stride = setting_->x_stride(), samples = series.extent(1);
  const auto stride = static_cast<std::size_t>(series.stride(0));
  const auto* from = static_cast<const std::byte*>(series.data());
  const auto place = static_cast<std::size_t>(schedule_.received() % ring);
  const bool there =
      setting_->config.in_place && series.data() == input_area().data && stride == x_stride;
  for (std::size_t done = there ? std::min(samples, ring - place) : 0; done < samples;) {
    const std::size_t to = (place + done) % ring;
    const std::size_t count = std::min(samples - done, ring - to);
    queue.copy_rows(x_.as<std::byte>() + to * 4, x_stride * 4, from + done * 4, stride * 4,
                    count * 4, setting_->config.trials);
    done += count;
  }
}

void GpuState::sum_segments(device::Queue& queue, std::size_t samples) {
  const GpuSetting& s = *setting_;
  const std::uint64_t received = schedule_.received(), segment = s.sizes.segment;
  const std::uint64_t first = received / segment, begun = received % segment;
  const std::size_t touched = core::divide_up(begun + samples, segment);
  queue.run(*s.kernels.sum_segments,
            {.groups = {core::divide_up(s.config.trials * touched, kSegmentsOfGroup), 1, 1},
             .threads = {256, 1, 1}},
            x_.data(), lengths_.data(), sums_[half_].data(), counts_[half_].data(),
            sums_[1 - half_].data(), counts_[1 - half_].data(), segment_means_.data(), received,
            core::u32(samples), core::u32(segment), core::u32(begun),
            core::u32(first % s.rings.segment_slots), core::u32(s.rings.segment_slots),
            std::uint64_t{s.x_stride()}, core::u32(first % s.rings.mean_slots),
            core::u32(s.rings.mean_slots), core::u32(touched), core::u32(s.config.trials));
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

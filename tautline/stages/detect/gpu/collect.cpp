// Collects a step: copies its peaks to the host, which makes events and groups of them beside the
// next step.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "tautline/core/integers.h"
#include "tautline/stages/detect/gpu/state.h"

namespace tautline::stages::detect {

// Takes down what the device has found. What the host makes of it is computed beside the next step.
void GpuState::collect() {
  pending_ = false;
  stepped_->synchronise();
  join();
  const auto* counters = host_counters_.as<std::uint32_t>();
  std::memcpy(&counters_.missing, counters, 8);
  const std::uint32_t count = counters[2];
  found_.clear();
  const bool fits = count <= setting_->records();
  if (count > 0) {
    if (fits)
      fetch_records(count);
    else
      fetch_again(count);
    fetch_queue_->copy(host_sigmas_.data(), sigmas_.data(), sigmas_.bytes());
    fetch_queue_->copy(host_over_.data(), over_counts_.data(), over_counts_.bytes());
    fetch_queue_->synchronise();
    std::memcpy(over_.data(), host_over_.data(), over_.size() * 8);
  }
  grouping_ = std::async(std::launch::async, [this, fits, step = std::move(step_)] {
    if (fits) peaks_.add(step, 0, step.blocks.size(), found_, *fetch_queue_);
    group(step);
  });
}

// Waits for group(), which uses the fetch queue, the peaks, the groups and what is counted of them.
void GpuState::join() {
  if (!grouping_.valid()) return;
  grouping_.get();
  pulses_.insert(pulses_.end(), grouped_.begin(), grouped_.end());
  grouped_.clear();
  counters_.searched = searched_;
  counters_.detections = detections_;
}

// From the events of a step to pulses.
void GpuState::group(const Step& step) {
  requests_.clear();
  peaks_.request(step, requests_);
  refine(requests_);
  std::vector<Detection> detections;
  peaks_.take(detections);
  std::uint64_t horizon = ~std::uint64_t{0};
  for (std::size_t t = 0; t < setting_->config.trials; ++t)
    horizon = std::min(horizon, peaks_.open_since(t, step.block_first[t]));
  searched_ = step.searched;
  detections_ += detections.size();
  groups_.add(detections);
  groups_.settle(horizon, grouped_);
}

void GpuState::fetch_records(std::uint32_t count) {
  const auto* records = host_records_.as<RunRecord>();
  const std::size_t room = host_records_.bytes() / kRecordBytes;
  for (std::size_t done = 0; done < count;) {
    const std::size_t part = std::min<std::size_t>(room, count - done);
    fetch_queue_->copy(host_records_.data(), records_.as<std::byte>() + done * kRecordBytes,
                       part * kRecordBytes);
    fetch_queue_->synchronise();
    found_.insert(found_.end(), records, records + part);
    done += part;
  }
}

// For more peaks than the buffer of records holds: searches the blocks again, in parts that fit.
void GpuState::fetch_again(std::uint32_t found) {
  // Blocks have different numbers of peaks.
  constexpr double kShareOfBuffer = 0.7;
  auto each = std::max<std::size_t>(
      1, static_cast<std::size_t>(kShareOfBuffer * static_cast<double>(step_.blocks.size()) *
                                  static_cast<double>(setting_->records()) / found));
  for (std::size_t first = 0; first < step_.blocks.size();) {
    // Blocks that keep a sigma follow the blocks that measure it.
    const std::size_t end = first < step_.measuring ? step_.measuring : step_.blocks.size();
    const std::size_t last = std::min(end, first + each);
    fetch_queue_->fill(missing_.as<std::byte>() + 8, 0, 8);
    search_blocks(*fetch_queue_, first, last, false);
    fetch_queue_->copy(host_counters_.data(), missing_.data(), kCounterBytes);
    fetch_queue_->synchronise();
    const std::uint32_t count = host_counters_.as<std::uint32_t>()[2];
    if (count > setting_->records()) {
      each = std::max<std::size_t>(1, each / 2);
      continue;
    }
    found_.clear();
    fetch_records(count);
    peaks_.add(step_, first, last, found_, *fetch_queue_);
    first = last;
  }
}

double GpuState::sigma_of(const Events::Event& event) const {
  const std::size_t slots = setting_->rings.sigma_slots;
  const std::uint64_t block = event.detection.first / setting_->sizes.noise;
  return host_sigmas_.as<double>()[event.detection.trial * slots + block % slots];
}

void GpuState::refine(const std::vector<RefineRequest>& requests) {
  const GpuSetting& s = *setting_;
  auto* jobs = host_refine_jobs_.as<std::uint64_t>();
  const auto* middles = host_middles_.as<std::uint64_t>();
  for (std::size_t first = 0; first < requests.size();) {
    std::size_t last = first, sums = 0;
    for (; last < requests.size() && last - first < kMostRefined; ++last) {
      const RefineRequest& r = requests[last];
      const std::uint64_t samples = r.end - r.first;
      if (sums + samples + 1 > s.refined_sums()) break;
      const Detection& d = r.event->detection;
      const std::array<std::uint64_t, kRefineWords> words{
          d.trial,
          r.first % s.rings.y_samples,
          samples,
          r.first,
          d.first,
          d.width,
          std::min<std::uint64_t>(r.window, s.sizes.baseline()),
          sums,
          std::bit_cast<std::uint64_t>(sigma_of(*r.event)),
          std::bit_cast<std::uint64_t>(kEqualSigmas)};
      std::copy(words.begin(), words.end(), jobs + (last - first) * kRefineWords);
      sums += samples + 1;
    }
    const std::size_t count = last - first;
    fetch_queue_->copy(refine_jobs_.data(), jobs, count * kRefineWords * 8);
    fetch_queue_->run(*s.kernels.find_middles, {.groups = {count, 1, 1}, .threads = {128, 1, 1}},
                      refine_jobs_.data(), y_.data(), widths_.data(), factors_.data(),
                      refined_sums_.data(), middles_.data(), core::u32(s.rings.y_samples));
    fetch_queue_->copy(host_middles_.data(), middles_.data(), count * kMiddleWords * 8);
    fetch_queue_->synchronise();
    for (std::size_t k = 0; k < count; ++k) {
      const std::uint64_t* m = middles + k * kMiddleWords;
      Events::Event& event = *requests[first + k].event;
      set_middle({std::bit_cast<double>(m[0]), m[1], m[2], std::bit_cast<double>(m[3]),
                  std::bit_cast<double>(m[4])},
                 sigma_of(event), s.config.threshold, event);
    }
    first = last;
  }
}

}  // namespace tautline::stages::detect

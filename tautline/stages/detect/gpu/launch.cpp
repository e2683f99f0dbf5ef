// The launches of one step: baseline, noise, boxcars.
#include <algorithm>
#include <array>
#include <cmath>

#include "tautline/core/integers.h"
#include "tautline/stages/detect/gpu/state.h"

namespace tautline::stages::detect {

void GpuState::launch(device::Queue& queue) {
  // Clears the counter of records; that of missing samples goes on.
  queue.fill(missing_.as<std::byte>() + 8, 0, 8);
  emit(queue);
  auto* jobs = host_jobs_.as<std::uint64_t>();
  const GpuSetting& s = *setting_;
  for (std::size_t j = 0; j < step_.blocks.size(); ++j) {
    const BlockJob& b = step_.blocks[j];
    const auto usable =
        std::upper_bound(s.sizes.widths.begin(), s.sizes.widths.end(), b.window,
                         [](std::uint64_t n, std::size_t width) { return 2 * width > n; });
    const std::array<std::uint64_t, kJobWords> words{
        b.trial,
        b.first % s.rings.y_samples,
        b.starts,
        b.samples,
        b.first % kSpreadingPeriod,
        b.first / s.sizes.noise % s.rings.sigma_slots,
        b.keeps_sigma ? 1U : 0U,
        static_cast<std::uint64_t>(usable - s.sizes.widths.begin())};
    std::copy(words.begin(), words.end(), jobs + j * kJobWords);
  }
  if (!step_.blocks.empty()) queue.copy(jobs_.data(), jobs, step_.blocks.size() * kJobWords * 8);
  search_blocks(queue, 0, step_.measuring, true);
  search_blocks(queue, step_.measuring, step_.blocks.size(), true);
  queue.copy(host_counters_.data(), missing_.data(), kCounterBytes);
  queue.record(*stepped_);
  pending_ = true;
}

void GpuState::emit(device::Queue& queue) {
  if (step_.emits.empty()) return;
  const GpuSetting& s = *setting_;
  auto* jobs = host_emit_jobs_.as<std::uint64_t>();
  std::uint64_t most_means = 0, most_samples = 0;
  for (std::size_t j = 0; j < step_.emits.size(); ++j) {
    const EmitJob& e = step_.emits[j];
    const std::array<std::uint64_t, kJobWords> words{
        e.trial,         e.first_mean,
        e.mean_count,    e.complete,
        e.first_segment, e.samples,
        e.own,           e.first_segment * s.sizes.segment % s.rings.y_samples};
    std::copy(words.begin(), words.end(), jobs + j * kJobWords);
    most_means = std::max(most_means, e.mean_count);
    most_samples = std::max(most_samples, e.samples);
  }
  queue.copy(emit_jobs_.data(), jobs, step_.emits.size() * kJobWords * 8);
  if (most_means > 0) {
    queue.run(*s.kernels.average,
              {.groups = {step_.emits.size() * most_means, 1, 1}, .threads = {64, 1, 1}},
              emit_jobs_.data(), segment_means_.data(), sums_[half_].data(), counts_[half_].data(),
              means_.data(), core::u32(most_means), core::u32(s.rings.mean_slots));
  }
  const std::size_t groups = core::divide_up(most_samples, s.subtract_samples());
  queue.run(
      *s.kernels.subtract, {.groups = {step_.emits.size() * groups, 1, 1}, .threads = {256, 1, 1}},
      emit_jobs_.data(), x_.data(), means_.data(), y_.data(), missing_.data(), core::u32(groups),
      core::u32(s.subtract_samples()), core::u32(s.sizes.segment), core::u32(s.rings.segment_slots),
      std::uint64_t{s.x_stride()}, core::u32(s.rings.mean_slots), core::u32(s.rings.y_samples));
}

// Searches the step's blocks [first, last), in batches whose running sums fit in memory.
void GpuState::search_blocks(device::Queue& queue, std::size_t first, std::size_t last,
                             bool counting) {
  const GpuSetting& s = *setting_;
  const std::uint64_t stride = s.sums_stride();
  for (; first < last; first += s.batch_jobs()) {
    const std::size_t count = std::min(last - first, s.batch_jobs());
    for (const std::uint32_t deviations : {0U, 1U}) {
      queue.run(*s.kernels.find_median,
                {.groups = {count, 1, 1}, .threads = {s.tunables.threads, 1, 1}}, jobs_.data(),
                y_.data(), medians_.data(), sigmas_.data(), core::u32(first),
                core::u32(s.rings.y_samples), core::u32(s.rings.sigma_slots), deviations);
    }
    queue.run(*s.kernels.add_up, {.groups = {count, 1, 1}, .threads = {s.tunables.threads, 1, 1}},
              jobs_.data(), y_.data(), sigmas_.data(), low_.data(), high_.data(), kinds_.data(),
              core::u32(first), core::u32(s.rings.y_samples), core::u32(s.rings.sigma_slots),
              stride, core::u32(s.sizes.widest()));
    if (s.measures_widths()) set_limits(queue, first, count);
    const std::size_t sets = s.measures_widths() ? s.sizes.widths.size() : 0;
    queue.run(*s.kernels.scan, {.groups = {count * s.tiles(), 1, 1}, .threads = {256, 1, 1}},
              jobs_.data(), low_.data(), kinds_.data(), widths_.data(), least_.data(), hits_.data(),
              core::u32(first), core::u32(s.tiles()), stride, core::u32(sets),
              core::u32(s.coarse_from()));
    queue.run(*s.kernels.find_peaks,
              {.groups = {count * s.peak_tiles(), 1, 1}, .threads = {256, 1, 1}}, jobs_.data(),
              low_.data(), high_.data(), kinds_.data(), widths_.data(), least_.data(),
              per_unit_.data(), hits_.data(), over_counts_.data(), missing_.data(), records_.data(),
              core::u32(first), core::u32(s.peak_tiles()), core::u32(s.tiles()), stride,
              core::u32(sets), core::u32(s.records()), std::uint32_t{counting ? 1U : 0U},
              std::uint32_t{s.config.links.time_samples > 0 ? 1U : 0U});
  }
}

// Scales for Noise::width: each width's noise is the RMS of its sums over the block.
void GpuState::set_limits(device::Queue& queue, std::size_t first, std::size_t count) {
  const GpuSetting& s = *setting_;
  const std::size_t widths = s.sizes.widths.size();
  queue.run(*s.kernels.sum_squares, {.groups = {count * widths, 1, 1}, .threads = {256, 1, 1}},
            jobs_.data(), low_.data(), high_.data(), kinds_.data(), widths_.data(), squares_.data(),
            core::u32(first), std::uint64_t{s.sums_stride()});
  queue.copy(host_squares_.data(), squares_.data(), count * widths * kSquareWords * 8);
  queue.synchronise();
  __extension__ using Wide = unsigned __int128;
  const auto* squares = host_squares_.as<std::uint64_t>();
  auto* least = host_least_.as<std::int64_t>();
  auto* per_unit = host_per_unit_.as<double>();
  for (std::size_t j = 0; j < count; ++j) {
    const BlockJob& block = step_.blocks[first + j];
    for (std::size_t k = 0; k < widths; ++k) {
      const std::size_t at = j * widths + k, width = s.sizes.widths[k];
      const std::uint64_t* part = squares + at * kSquareWords;
      const Wide sum = Wide{part[0]} + (Wide{part[1]} << 32) + (Wide{part[2]} << 33) +
                       (Wide{part[3]} << 65) + (Wide{part[4]} << 64);
      least[at] = kNeverReached;
      per_unit[at] = 0;
      if (sum == 0 || width > block.samples) continue;
      const std::uint64_t boxcars = std::min(block.starts, block.samples - width + 1);
      const double rms = std::sqrt(static_cast<double>(sum) / static_cast<double>(boxcars));
      per_unit[at] = 1 / rms;
      least[at] = static_cast<std::int64_t>(std::ceil(s.config.threshold * rms));
    }
  }
  queue.copy(least_.data(), least, count * widths * 8);
  queue.copy(per_unit_.data(), per_unit, count * widths * 8);
}

}  // namespace tautline::stages::detect

#include "tautline/stages/detect/events.h"

#include <algorithm>
#include <cmath>

namespace tautline::stages::detect {

namespace {

// Starts that refine_peak compares at once.
constexpr std::size_t kStarts = RefineScratch::kCell;

// sums[i] = y[begin] + ... + y[begin + i - 1], and the extremes of each kStarts of them.
void sum_up(const Samples& samples, std::uint64_t begin, std::uint64_t end,
            RefineScratch& scratch) {
  const std::size_t count = end - begin + 1;
  scratch.sums.resize(count);
  scratch.cells.resize((count + kStarts - 1) / kStarts);
  const float* y = samples.y + (begin - samples.first);
  double sum = 0;
  for (std::size_t c = 0; c < scratch.cells.size(); ++c) {
    double lowest = sum, highest = sum;
    const std::size_t last = std::min(count, (c + 1) * kStarts);
    for (std::size_t i = c * kStarts; i < last; ++i) {
      lowest = std::min(lowest, sum);
      highest = std::max(highest, sum);
      scratch.sums[i] = sum;
      if (i + 1 == count) break;
      const auto next = static_cast<double>(y[i]);
      sum += std::isnan(next) ? 0 : next;
    }
    scratch.cells[c] = {lowest, highest};
  }
}

}  // namespace

void Events::add(std::uint64_t time, double snr, std::uint64_t width, std::size_t width_index) {
  Detection& d = event_.detection;
  if (open_ && time - d.last_time >
                   links_.time_samples + std::min<std::uint64_t>(event_.last_width, width) / 2) {
    closed_.push_back(event_);
    open_ = false;
  }
  if (!open_) {
    event_ = {};
    d.trial = trial_;
    d.length = length_;
    d.first_time = time;
    open_ = true;
  }
  d.last_time = time;
  event_.last_width = width;
  improve(time, snr, width, width_index);
}

void Events::add(const PeakRun& run, const std::vector<std::size_t>& widths) {
  add(run.first.time, run.first.snr, widths[run.first.width_index], run.first.width_index);
  improve(run.best.time, run.best.snr, widths[run.best.width_index], run.best.width_index);
  event_.detection.last_time = run.last.time;
  event_.last_width = widths[run.last.width_index];
}

void Events::improve(std::uint64_t time, double snr, std::uint64_t width, std::size_t width_index) {
  if (!(snr > event_.best)) return;
  Detection& d = event_.detection;
  event_.best = d.snr = snr;
  d.first = time - width / 2;
  d.width = width;
  event_.width_index = width_index;
  event_.refined = false;
}

void Events::settle(std::uint64_t time) {
  if (!open_) return;
  const std::uint64_t reach =
      event_.detection.last_time + links_.time_samples + event_.last_width / 2;
  if (time <= reach) return;
  closed_.push_back(event_);
  open_ = false;
}

void Events::take(std::vector<Detection>& detections) {
  for (const Event& event : closed_) detections.push_back(event.detection);
  closed_.clear();
}

void refine_peak(const Samples& samples, const Sizes& sizes, double sigma, std::uint64_t n,
                 double threshold, RefineScratch& scratch, Events::Event& event) {
  const std::uint64_t listed = event.detection.width, first = event.detection.first;
  const std::uint64_t begin = first - std::min(listed, first - samples.first);
  const std::uint64_t end = std::min(first + listed + sizes.widest(), samples.end);

  sum_up(samples, begin, end, scratch);
  const std::vector<double>& sums = scratch.sums;
  const auto snr_of = [&](std::uint64_t start, std::uint64_t width) {
    return (sums[start + width - begin] - sums[start - begin]) / sigma * snr_factor(width);
  };
  const double limit = snr_of(first, listed) - kEqualSigmas;
  double weight = 0, starts = 0, ends = 0;
  for (const std::uint64_t width : sizes.widths) {
    if (2 * width < listed || width > 2 * listed || 2 * width > n) continue;
    const double factor = snr_factor(width) / sigma;
    if (begin + width > end) continue;
    // Several starts at once, since most are under the limit: no boxcar of a cell exceeds the bound that
    // the extremes give, as rounding keeps the order of differences and of products with a factor.
    const double* low = sums.data();
    const std::uint64_t starts_count = std::min(first + listed, end - width) - begin + 1;
    for (std::uint64_t i = 0; i < starts_count; i += kStarts) {
      const std::size_t count = std::min<std::uint64_t>(kStarts, starts_count - i);
      const double highest = std::max(scratch.cells[(i + width) / kStarts].highest,
                                      scratch.cells[(i + width + count - 1) / kStarts].highest);
      if (!((highest - scratch.cells[i / kStarts].lowest) * factor > limit)) continue;
      for (std::size_t j = 0; j < count; ++j) {
        const double snr = (low[i + j + width] - low[i + j]) * factor;
        if (!(snr > limit)) continue;
        const auto start = static_cast<double>(begin + i + j);
        weight += snr - limit;
        starts += (snr - limit) * start;
        ends += (snr - limit) * (start + static_cast<double>(width));
      }
    }
  }
  Middle middle{.weight = weight, .listed_sum = sums[first + listed - begin] - sums[first - begin]};
  if (weight > 0) {
    middle.first = static_cast<std::uint64_t>(starts / weight + 0.5);
    const auto middle_end = static_cast<std::uint64_t>(ends / weight + 0.5);
    middle.width = std::max<std::uint64_t>(1, middle_end - middle.first);
    middle.sum = sums[middle.first + middle.width - begin] - sums[middle.first - begin];
  }
  set_middle(middle, sigma, threshold, event);
}

void set_middle(const Middle& middle, double sigma, double threshold, Events::Event& event) {
  Detection& d = event.detection;
  // The weight is 0 beyond an S/N of 2^54, where S/N - 2 rounds to S/N.
  if (middle.weight > 0) {
    const double snr = middle.sum / sigma * snr_factor(middle.width);
    if (snr >= threshold) {
      d.first = middle.first;
      d.width = middle.width;
      d.snr = snr;
      return;
    }
  }
  // The search rounded samples to units, so the exact S/N may lie below the threshold.
  d.snr = std::max(middle.listed_sum / sigma * snr_factor(d.width),
                   event.best < threshold ? threshold : event.best);
}

}  // namespace tautline::stages::detect

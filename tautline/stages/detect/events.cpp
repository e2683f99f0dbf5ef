#include "tautline/stages/detect/events.h"

#include <algorithm>
#include <cmath>

namespace tautline::stages::detect {

namespace {

// Starts that refine_peak compares at once.
constexpr std::size_t kStarts = 16;

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
                 double threshold, std::vector<double>& sums, Events::Event& event) {
  Detection& d = event.detection;
  const std::uint64_t listed = sizes.widths[event.width_index], first = d.first;
  const std::uint64_t begin = first - std::min(listed, first - samples.first);
  const std::uint64_t end = std::min(first + listed + sizes.widest(), samples.end);

  // sums[i] = y[begin] + ... + y[begin + i - 1]
  sums.resize(end - begin + 1);
  double sum = sums[0] = 0;
  for (std::uint64_t t = begin; t < end; ++t) {
    const auto y = static_cast<double>(samples.y[t - samples.first]);
    sum += std::isnan(y) ? 0 : y;
    sums[t - begin + 1] = sum;
  }
  const auto snr_of = [&](std::uint64_t start, std::uint64_t width) {
    return (sums[start + width - begin] - sums[start - begin]) / sigma * snr_factor(width);
  };
  const double limit = snr_of(first, listed) - kEqualSigmas;
  double weight = 0, starts = 0, ends = 0;
  for (const std::uint64_t width : sizes.widths) {
    if (2 * width < listed || width > 2 * listed || 2 * width > n) continue;
    const double factor = snr_factor(width) / sigma;
    if (begin + width > end) continue;
    // Several starts at once, since most are under the limit.
    const double* low = sums.data();
    const std::uint64_t starts_count = std::min(first + listed, end - width) - begin + 1;
    for (std::uint64_t i = 0; i < starts_count; i += kStarts) {
      const std::size_t count = std::min<std::uint64_t>(kStarts, starts_count - i);
      double snrs[kStarts];
      bool any = false;
      for (std::size_t j = 0; j < count; ++j) {
        snrs[j] = (low[i + j + width] - low[i + j]) * factor;
        any |= snrs[j] > limit;
      }
      if (!any) continue;
      for (std::size_t j = 0; j < count; ++j) {
        if (!(snrs[j] > limit)) continue;
        const auto start = static_cast<double>(begin + i + j);
        weight += snrs[j] - limit;
        starts += (snrs[j] - limit) * start;
        ends += (snrs[j] - limit) * (start + static_cast<double>(width));
      }
    }
  }
  // The weight is 0 beyond an S/N of 2^54, where S/N - 2 rounds to S/N.
  if (weight > 0) {
    const auto middle_first = static_cast<std::uint64_t>(starts / weight + 0.5);
    const auto middle_end = static_cast<std::uint64_t>(ends / weight + 0.5);
    const std::uint64_t width = std::max<std::uint64_t>(1, middle_end - middle_first);
    const double snr = snr_of(middle_first, width);
    if (snr >= threshold) {
      d.first = middle_first;
      d.width = width;
      d.snr = snr;
      return;
    }
  }
  d.first = first;
  d.width = listed;
  // The search rounded samples to units, so the exact S/N may lie below the threshold.
  d.snr = std::max(snr_of(first, listed), event.best < threshold ? threshold : event.best);
}

}  // namespace tautline::stages::detect

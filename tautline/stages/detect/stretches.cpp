#include "tautline/stages/detect/stretches.h"

#include <algorithm>
#include <cmath>

namespace tautline::stages::detect {

void Stretches::add(std::uint64_t time, double snr, std::uint64_t width, std::size_t width_index) {
  Detection& d = stretch_.detection;
  if (open_ && time - d.last_time >
                   links_.time_samples + std::min<std::uint64_t>(stretch_.last_width, width) / 2) {
    closed_.push_back(stretch_);
    open_ = false;
  }
  if (!open_) {
    stretch_ = {};
    d.trial = trial_;
    d.first_time = time;
    open_ = true;
  }
  d.last_time = time;
  stretch_.last_width = width;
  if (snr > stretch_.best) {
    stretch_.best = d.snr = snr;
    d.first = time - width / 2;
    d.width = width;
    stretch_.width_index = width_index;
    stretch_.refined = false;
  }
}

void Stretches::settle(std::uint64_t time) {
  if (!open_) return;
  const std::uint64_t reach =
      stretch_.detection.last_time + links_.time_samples + stretch_.last_width / 2;
  if (time <= reach) return;
  closed_.push_back(stretch_);
  open_ = false;
}

void Stretches::take(std::vector<Detection>& detections) {
  for (const Stretch& stretch : closed_) detections.push_back(stretch.detection);
  closed_.clear();
}

void refine_peak(const Samples& samples, const Sizes& sizes, double sigma, std::uint64_t n,
                 double threshold, std::vector<double>& sums, Stretches::Stretch& stretch) {
  constexpr std::uint64_t kMostWidths = 16;
  Detection& d = stretch.detection;
  const std::size_t k = stretch.width_index;
  const std::uint64_t listed = sizes.widths[k], first = d.first;
  const std::uint64_t narrower = k == 0 ? listed : sizes.widths[k - 1] + 1;
  const std::uint64_t wider = k + 1 == sizes.widths.size() ? listed : sizes.widths[k + 1] - 1;
  const std::uint64_t reach = wider - narrower;
  const std::uint64_t begin = first - std::min(reach, first - samples.first);
  const std::uint64_t end = std::min(first + reach + wider, samples.end);

  // sums[i] = y[begin] + ... + y[begin + i - 1]
  sums.assign(1, 0.0);
  for (std::uint64_t t = begin; t < end; ++t) {
    const auto y = static_cast<double>(samples.y[t - samples.first]);
    sums.push_back(sums.back() + (std::isnan(y) ? 0 : y));
  }
  const auto snr_of = [&](std::uint64_t start, std::uint64_t width) {
    return (sums[start + width - begin] - sums[start - begin]) / sigma * snr_factor(width, n);
  };
  double best = snr_of(first, listed);
  d.first = first;
  d.width = listed;
  const std::uint64_t step = std::max<std::uint64_t>(1, (reach + kMostWidths) / kMostWidths);
  for (std::uint64_t width = narrower; width <= wider && reach > 0 && 2 * width <= n; width += step)
    for (std::uint64_t start = begin; start <= first + reach && start + width <= end; ++start) {
      const double snr = snr_of(start, width);
      if (!(snr > best)) continue;
      best = snr;
      d.first = start;
      d.width = width;
    }
  // Its samples were rounded to units when the boxcar passed the threshold.
  d.snr = best < threshold ? stretch.best : best;
}

}  // namespace tautline::stages::detect

#include "tautline/stages/detect/cpu/block_search.h"

#include <algorithm>
#include <cmath>

namespace tautline::stages::detect {

namespace {

__extension__ using Wide = __int128;

std::size_t steps(std::size_t starts) {
  return (starts + kScanStep - 1) / kScanStep;
}

std::size_t prefix_length(const Sizes& sizes) {
  return steps(sizes.noise) * kScanStep + sizes.widest() + 1;
}

std::size_t peak_times(const Sizes& sizes) {
  return sizes.noise + sizes.widest() / 2 + 1;
}

}  // namespace

BlockSearch::BlockSearch(const Sizes& sizes)
    : sizes_(sizes),
      prefix_(prefix_length(sizes)),
      least_(sizes.widths.size()),
      wide_prefix_(prefix_length(sizes)),
      hits_(steps(sizes.noise) * sizes.widths.size()),
      snr_(peak_times(sizes)),
      width_(peak_times(sizes)),
      lowest_(peak_times(sizes)) {}

std::size_t BlockSearch::bytes(const Sizes& sizes) {
  return prefix_length(sizes) * (sizeof(std::int32_t) + sizeof(std::int64_t)) +
         steps(sizes.noise) * sizes.widths.size() * sizeof(Hit) +
         peak_times(sizes) * (sizeof(double) + sizeof(std::uint32_t));
}

// Keeps the narrower of two equal boxcars, in whatever order they come.
void BlockSearch::offer(std::size_t time, std::size_t width_index, double snr) {
  if (snr < snr_[time] || (snr == snr_[time] && width_index >= width_[time])) return;
  snr_[time] = snr;
  width_[time] = static_cast<std::uint32_t>(width_index);
  lowest_ = std::min(lowest_, time);
  highest_ = std::max(highest_, time + 1);
}

void BlockSearch::put(const std::vector<Peak>& peaks, std::uint64_t first) {
  for (const Peak& peak : peaks)
    offer(static_cast<std::size_t>(peak.time - first), peak.width_index, peak.snr);
}

void BlockSearch::search(const SeriesBlock& block, const Scales& scales, Noise noise,
                         double threshold, const Kernels& kernels, std::uint64_t* over) {
  const auto scale = static_cast<float>(kUnitsPerSigma / block.sigma);
  if (!(block.sigma > 0) || !std::isfinite(scale)) return;  // constant samples have no noise
  const double total = kernels.quantise(block.y, block.samples, scale, prefix_.data());
  std::fill(prefix_.begin() + static_cast<std::ptrdiff_t>(block.samples) + 1, prefix_.end(),
            kPadding);
  constexpr double kSlack = 1.01;  // for the rounding of `total`, a sum in floats
  const bool narrow = total * kSlack < static_cast<double>(kScanLimit);
  const bool few = total * kSlack < static_cast<double>(kSquaresLimit);
  if (!narrow || (noise == Noise::width && !few)) {
    // Differences of neighbouring prefix sums, modulo 2^32, are the samples, which fit in 32 bits.
    wide_prefix_[0] = 0;
    for (std::size_t i = 0; i < block.samples; ++i)
      wide_prefix_[i + 1] =
          wide_prefix_[i] + static_cast<std::int32_t>(static_cast<std::uint32_t>(prefix_[i + 1]) -
                                                      static_cast<std::uint32_t>(prefix_[i]));
  }
  const Scales used =
      noise == Noise::trial ? scales : measured_scales(block, scales, threshold, few, kernels);
  if (narrow) {
    scan_steps(block, used, kernels, over);
  } else {
    scan_all(block, used, over);
  }
}

void BlockSearch::scan_steps(const SeriesBlock& block, const Scales& scales, const Kernels& kernels,
                             std::uint64_t* over) {
  constexpr std::int64_t kMost = std::int64_t{1} << 30;  // more than any sum can be
  for (std::size_t k = 0; k < least_.size(); ++k)
    least_[k] = static_cast<std::int32_t>(std::min(kMost, scales.least_sum[k]));
  const std::size_t found = kernels.scan(prefix_.data(), block.starts, sizes_.widths.data(),
                                         least_.data(), least_.size(), hits_.data());
  for (std::size_t h = 0; h < found; ++h) {
    const std::size_t k = hits_[h].width, width = sizes_.widths[k];
    const std::size_t last = std::min(hits_[h].start + kScanStep, block.starts);
    for (std::size_t i = hits_[h].start; i < last; ++i) {
      const std::int32_t sum = prefix_[i + width] - prefix_[i];
      if (sum < least_[k]) continue;
      ++over[k];
      offer(i + width / 2, k, sum * scales.snr_per_unit[k]);
    }
  }
}

// The same in 64 bits, for samples whose sums might overflow 32 bits.
void BlockSearch::scan_all(const SeriesBlock& block, const Scales& scales, std::uint64_t* over) {
  for (std::size_t k = 0; k < sizes_.widths.size(); ++k) {
    const std::size_t width = sizes_.widths[k];
    if (width > block.samples || scales.least_sum[k] == kNeverReached) continue;
    const std::size_t last = std::min(block.starts, block.samples - width + 1);
    for (std::size_t i = 0; i < last; ++i) {
      const std::int64_t sum = wide_prefix_[i + width] - wide_prefix_[i];
      if (sum < scales.least_sum[k]) continue;
      ++over[k];
      offer(i + width / 2, k, static_cast<double>(sum) * scales.snr_per_unit[k]);
    }
  }
}

// Scales for Noise::width: each width's noise is the RMS of its sums over the block.
Scales BlockSearch::measured_scales(const SeriesBlock& block, const Scales& scales,
                                    double threshold, bool few, const Kernels& kernels) {
  Scales measured = scales;
  for (std::size_t k = 0; k < sizes_.widths.size(); ++k) {
    const std::size_t width = sizes_.widths[k];
    measured.least_sum[k] = kNeverReached;
    if (width > block.samples || scales.least_sum[k] == kNeverReached) continue;
    const std::size_t count = std::min(block.starts, block.samples - width + 1);
    Wide squares = 0;
    for (std::size_t i = 0; few && i < count; i += kSquaresStep)
      squares += kernels.sum_squares(prefix_.data() + i, std::min(kSquaresStep, count - i), width);
    for (std::size_t i = 0; !few && i < count; ++i) {
      const Wide sum = wide_prefix_[i + width] - wide_prefix_[i];
      squares += sum * sum;
    }
    if (squares == 0) continue;
    const double rms = std::sqrt(static_cast<double>(squares) / static_cast<double>(count));
    measured.snr_per_unit[k] = 1 / rms;
    measured.least_sum[k] = static_cast<std::int64_t>(std::ceil(threshold * rms));
  }
  return measured;
}

}  // namespace tautline::stages::detect

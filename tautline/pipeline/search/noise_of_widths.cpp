#include "tautline/pipeline/search/noise_of_widths.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace tautline::pipeline {

namespace {

constexpr double kSigmaOfMad = 1.4826;

double deviation_by_median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  const double median = *middle;
  for (double& x : values) x = std::abs(x - median);
  std::nth_element(values.begin(), middle, values.end());
  return kSigmaOfMad * *middle;
}

// [t] the sum of the values before t.
std::vector<double> sums_before(std::span<const double> values) {
  std::vector<double> sums(values.size() + 1, 0);
  for (std::size_t t = 0; t < values.size(); ++t) sums[t + 1] = sums[t] + values[t];
  return sums;
}

// Less the mean over `half` values on either side.
std::vector<double> without_baseline(std::span<const float> piece, std::size_t half) {
  const std::size_t count = piece.size();
  std::vector<double> values(count);
  for (std::size_t t = 0; t < count; ++t)
    values[t] = std::isfinite(piece[t]) ? static_cast<double>(piece[t]) : 0;
  // A common offset would cost the sums their digits.
  const double origin = count > 0 ? values.front() : 0;
  for (double& x : values) x -= origin;
  const std::vector<double> level = sums_before(values);
  for (std::size_t t = 0; t < count; ++t) {
    const std::size_t first = t > half ? t - half : 0, end = std::min(count, t + half + 1);
    values[t] -= (level[end] - level[first]) / static_cast<double>(end - first);
  }
  return values;
}

bool scatters(std::span<const std::span<const float>> pieces) {
  return std::ranges::any_of(pieces, [](std::span<const float> piece) {
    return std::ranges::any_of(piece, [&](float x) { return x != piece.front(); });
  });
}

}  // namespace

// White noise exceeds the second limit with probability 1e-6 or less: half of n normal values lie beyond (1 + 7.5 /
// sqrt(n)) 0.6745 standard deviations, n from 16 to 256.
bool WidthNoise::is_much() const {
  constexpr double kMuch = 1.5, kOfFew = 7.5;
  return excess >= std::max(kMuch, 1 + kOfFew / std::sqrt(static_cast<double>(sums)));
}

std::vector<WidthNoise> noise_of_widths(std::span<const std::span<const float>> pieces,
                                        bool whole_numbers, std::size_t baseline_samples,
                                        std::span<const std::size_t> widths) {
  std::vector<double> values;             // of all pieces
  std::vector<std::vector<double>> sums;  // [piece][t], before t
  const auto half = std::max<std::size_t>(1, baseline_samples / 2);
  for (const std::span<const float> piece : pieces) {
    const std::vector<double> flat = without_baseline(piece, half);
    values.insert(values.end(), flat.begin(), flat.end());
    sums.push_back(sums_before(flat));
  }
  if (values.size() < kLeastSums || !scatters(pieces)) return {};
  // The steps of whole numbers are filled evenly, as detect does.
  if (whole_numbers)
    for (std::size_t t = 0; t < values.size(); ++t)
      values[t] += (static_cast<double>(633 * t % 1024) + 0.5) / 1024 - 0.5;
  const double spread = deviation_by_median(std::move(values));
  const double variance = spread * spread - (whole_numbers ? 1.0 / 12 : 0);
  if (!(variance > 0)) return {};
  std::vector<WidthNoise> noise;
  for (const std::size_t width : widths) {
    std::size_t count = 0;
    for (const std::span<const float> piece : pieces) count += piece.size() / width;
    if (width < 2 || count < kLeastSums) continue;
    std::vector<double> of_width;
    const std::size_t step = std::max<std::size_t>(1, width / 4);
    for (const std::vector<double>& before : sums)
      for (std::size_t t = 0; t + width < before.size(); t += step)
        of_width.push_back(before[t + width] - before[t]);
    noise.push_back({width,
                     deviation_by_median(std::move(of_width)) /
                         std::sqrt(variance * static_cast<double>(width)),
                     count});
  }
  return noise;
}

}  // namespace tautline::pipeline

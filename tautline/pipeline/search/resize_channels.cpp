#include "tautline/pipeline/search/resize_channels.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace tautline::pipeline {

namespace {

constexpr double kTruncated = 4;  // standard deviations on each side

// exp(-x^2 / 2 sigma^2), its sum 1; one value where nothing is smoothed.
std::vector<double> gaussian(double sigma) {
  const auto radius = static_cast<std::int64_t>(kTruncated * sigma + 0.5);
  std::vector<double> weights;
  double sum = 0;
  for (std::int64_t x = -radius; x <= radius; ++x) {
    const auto distance = static_cast<double>(x);
    weights.push_back(x == 0 ? 1 : std::exp(-0.5 * distance * distance / (sigma * sigma)));
    sum += weights.back();
  }
  for (double& w : weights) w /= sum;
  return weights;
}

// Beyond the ends is nothing.
void smooth(const float* from, std::vector<float>& to, const std::vector<double>& weights) {
  const auto n = static_cast<std::int64_t>(to.size());
  const auto radius = static_cast<std::int64_t>(weights.size() / 2);
  for (std::int64_t c = 0; c < n; ++c) {
    double sum = 0;
    for (std::int64_t k = std::max(-radius, -c); k <= std::min(radius, n - 1 - c); ++k)
      sum += weights[static_cast<std::size_t>(k + radius)] * static_cast<double>(from[c + k]);
    to[static_cast<std::size_t>(c)] = static_cast<float>(sum);
  }
}

// Between the two nearest; beyond the ends is nothing.
float interpolate(const std::vector<float>& values, double at) {
  const auto n = static_cast<std::int64_t>(values.size());
  const double floor = std::floor(at), part = at - floor;
  const auto below = static_cast<std::int64_t>(floor);
  const auto value = [&](std::int64_t k) {
    return k >= 0 && k < n ? static_cast<double>(values[static_cast<std::size_t>(k)]) : 0.0;
  };
  return static_cast<float>((1 - part) * value(below) + part * value(below + 1));
}

void clip(std::vector<float>& values, const std::vector<float>& image) {
  auto [least, most] = std::minmax_element(image.begin(), image.end());
  float low = *least, high = *most;
  const auto [lowest, highest] = std::minmax_element(values.begin(), values.end());
  if ((low > 0 || high < 0) && *lowest <= 0 && *highest >= 0) {
    low = std::min(low, 0.0f);
    high = std::max(high, 0.0f);
  }
  for (float& v : values) v = std::clamp(v, low, high);
}

}  // namespace

std::vector<float> resize_channels(const std::vector<float>& image, std::size_t channels,
                                   std::size_t wanted) {
  const double ratio = static_cast<double>(channels) / static_cast<double>(wanted);
  const std::vector<double> weights = gaussian(std::max(0.0, (ratio - 1) / 2));
  std::vector<float> row(channels), resized;
  for (std::size_t first = 0; first < image.size(); first += channels) {
    smooth(image.data() + first, row, weights);
    for (std::size_t k = 0; k < wanted; ++k)
      resized.push_back(interpolate(row, (static_cast<double>(k) + 0.5) * ratio - 0.5));
  }
  clip(resized, image);
  return resized;
}

}  // namespace tautline::pipeline

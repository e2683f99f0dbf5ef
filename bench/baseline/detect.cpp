#include "bench/baseline/detect.h"

#include <algorithm>
#include <cmath>

namespace tautline::bench {

void plain_search(const std::int32_t* x, std::size_t n, std::size_t window,
                  const std::vector<std::size_t>& widths, double threshold,
                  std::vector<PlainHit>& hits) {
  hits.clear();
  std::vector<float> y(n);
  double sum = 0, squares = 0;
  for (std::size_t t = 0; t < std::min(window, n); ++t) sum += x[t];
  const std::size_t held = std::min(window, n);
  for (std::size_t t = 0; t < n; ++t) {
    if (t > held / 2 && t + held / 2 < n) sum += x[t + held / 2] - x[t - held / 2 - 1];
    y[t] = static_cast<float>(x[t] - sum / static_cast<double>(held));
    squares += static_cast<double>(y[t]) * static_cast<double>(y[t]);
  }
  const float sigma = static_cast<float>(std::sqrt(squares / static_cast<double>(n)));
  for (const std::size_t width : widths) {
    if (width > n) break;
    const float scale = 1 / (sigma * std::sqrt(static_cast<float>(width)));
    float boxcar = 0;
    for (std::size_t t = 0; t < width; ++t) boxcar += y[t];
    for (std::size_t t = 0; t + width < n; ++t) {
      const float snr = boxcar * scale;
      if (snr >= static_cast<float>(threshold)) hits.push_back({t, width, snr});
      boxcar += y[t + width] - y[t];
    }
  }
}

}  // namespace tautline::bench

#include "tautline/core/step_fit.h"

#include <cmath>
#include <utility>
#include <vector>

namespace tautline::core {

StepFit fit_step(std::span<const double> values, std::span<const double> times) {
  const std::size_t count = values.size();
  using Series = std::vector<double>;
  const auto project = [count](std::span<const double> x, const Series& on) {
    double dot = 0, square = 0;
    for (std::size_t k = 0; k < count; ++k) dot += x[k] * on[k], square += on[k] * on[k];
    return std::pair(dot / square, square);
  };
  const auto take = [count](Series& from, double factor, const Series& what) {
    for (std::size_t k = 0; k < count; ++k) from[k] -= factor * what[k];
  };
  Series one(count, 1), time(count), step(count);
  for (std::size_t k = 0; k < count; ++k) {
    time[k] = times.empty() ? static_cast<double>(k) - 0.5 * static_cast<double>(count - 1)
                            : times[k] - times.front();
    step[k] = k < count / 2 ? -0.5 : 0.5;
  }
  if (!times.empty()) take(time, project(time, one).first, one);
  take(step, project(step, time).first, time);
  Series left(values.begin(), values.end());
  StepFit fit;
  fit.mean = project(left, one).first;
  take(left, fit.mean, one);
  take(left, project(left, time).first, time);
  const auto [height, square] = project(left, step);
  take(left, height, step);
  double rest = 0, all = 0;
  for (std::size_t k = 0; k < count; ++k) rest += left[k] * left[k], all += values[k] * values[k];
  fit.height = height;
  constexpr double kRounding = 1e-24;  // of doubles, squared
  if (!(rest > kRounding * all)) return fit;
  fit.deviation = std::sqrt(rest / static_cast<double>(count - 3));
  fit.standard_errors = height / (fit.deviation / std::sqrt(square));
  return fit;
}

}  // namespace tautline::core

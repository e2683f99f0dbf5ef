#include "tautline/pipeline/photons/fit/mains_swing.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <numeric>
#include <vector>

namespace tautline::pipeline::fit {

namespace {

using Values = std::vector<double>;

constexpr double kFrequencies_hz[] = {50, 60, 100, 120};
// Lags of one level: their bins, which are as long as they are apart, still show the cosine.
constexpr double kMostOfPeriod = 0.25;
// Shorter lags have no part of a swing, and all of a curve's height.
constexpr double kLeastOfPeriod = 0.125;
constexpr std::size_t kFewestPoints = 10;
constexpr double kBeyondNoise = 6;  // standard errors of the cosine's height

double product(const Values& a, const Values& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

// Takes off what `values` have of a vector of length 1.
void take_off(const Values& unit, Values& values) {
  const double part = product(unit, values);
  for (std::size_t k = 0; k < values.size(); ++k) values[k] -= part * unit[k];
}

// What is left of the points, and the cosine, over the points' errors; without what is a parabola of the lag's logarithm in
// both, as a wrong model leaves it.
struct Rest {
  Values left, cosine;
};

Rest rest_of(const Model& model, std::span<const double> values, const Points& points,
             double frequency_hz) {
  Rest rest;
  Values slow[3];
  for (std::size_t m = 1; m < points.g.size(); ++m) {
    const double lag_s = points.lag_s[m], error = points.standard_error[m];
    if (lag_s * frequency_hz < kLeastOfPeriod ||
        (lag_s - points.lag_s[m - 1]) * frequency_hz > kMostOfPeriod)
      continue;
    const double logarithm = std::log(lag_s * frequency_hz);
    rest.left.push_back((points.g[m] - evaluate(model, values, lag_s, {})) / error);
    rest.cosine.push_back(std::cos(2 * std::numbers::pi * frequency_hz * lag_s) / error);
    for (std::size_t power = 0; power < std::size(slow); ++power)
      slow[power].push_back(std::pow(logarithm, static_cast<double>(power)) / error);
  }
  for (std::size_t power = 0; power < std::size(slow); ++power) {
    for (std::size_t lower = 0; lower < power; ++lower) take_off(slow[lower], slow[power]);
    const double length = std::sqrt(product(slow[power], slow[power]));
    for (double& value : slow[power]) value /= length;
    take_off(slow[power], rest.left);
    take_off(slow[power], rest.cosine);
  }
  return rest;
}

}  // namespace

std::optional<Swing> mains_swing(const Model& model, std::span<const double> values,
                                 const Points& points) {
  constexpr double kFitted = 4;  // three of the parabola, and the height
  std::optional<Swing> found;
  double most = kBeyondNoise;
  for (const double frequency_hz : kFrequencies_hz) {
    const auto [left, cosine] = rest_of(model, values, points, frequency_hz);
    if (left.size() < kFewestPoints) continue;
    const double squares = product(cosine, cosine), height = product(left, cosine) / squares;
    const double others = product(left, left) - height * height * squares;
    // Where noise is larger than the errors say, it is the measure.
    const double scatter =
        std::sqrt(std::max(1.0, others / (static_cast<double>(left.size()) - kFitted)));
    const double errors = height * std::sqrt(squares) / scatter;
    if (!(errors > most)) continue;
    most = errors;
    found = {frequency_hz, std::sqrt(2 * height)};
  }
  return found;
}

}  // namespace tautline::pipeline::fit

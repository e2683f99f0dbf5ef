#include <cmath>
#include <utility>

#include "tautline/pipeline/photons/fit/least_squares.h"

namespace tautline::pipeline::fit {

namespace {

using Matrix = std::vector<std::vector<double>>;

// Weighted slopes [point][free parameter], each column scaled to length 1; the lengths beside them.
Matrix slopes_of(Model model, const Solution& solution, const Points& points,
                 const std::vector<std::size_t>& free, std::vector<double>& lengths) {
  Matrix slopes;
  std::vector<double> gradient(solution.values.size());
  lengths.assign(free.size(), 0);
  for (std::size_t m = 0; m < points.lag_s.size(); ++m) {
    evaluate(model, solution.values, points.lag_s[m], gradient);
    const double weight = points.standard_error.empty() ? 1 : 1 / points.standard_error[m];
    std::vector<double>& row = slopes.emplace_back();
    for (std::size_t k = 0; k < free.size(); ++k) {
      row.push_back(gradient[free[k]] * weight);
      lengths[k] += row[k] * row[k];
    }
  }
  for (double& length : lengths) length = std::sqrt(length);
  for (auto& row : slopes)
    for (std::size_t k = 0; k < free.size(); ++k) row[k] /= lengths[k];
  return slopes;
}

// Solves `normal` x = right in place by Gaussian elimination; false when it is singular.
bool eliminate(Matrix normal, std::vector<double>& right) {
  const std::size_t n = right.size();
  for (std::size_t c = 0; c < n; ++c) {
    std::size_t pivot = c;
    for (std::size_t r = c; r < n; ++r)
      if (std::abs(normal[r][c]) > std::abs(normal[pivot][c])) pivot = r;
    if (!(std::abs(normal[pivot][c]) > 1e-13)) return false;
    std::swap(normal[c], normal[pivot]);
    std::swap(right[c], right[pivot]);
    for (std::size_t r = 0; r < n; ++r) {
      if (r == c) continue;
      const double factor = normal[r][c] / normal[c][c];
      for (std::size_t k = c; k < n; ++k) normal[r][k] -= factor * normal[c][k];
      right[r] -= factor * right[c];
    }
  }
  for (std::size_t c = 0; c < n; ++c) right[c] /= normal[c][c];
  return true;
}

}  // namespace

bool use_segments(Model model, const std::vector<Parameter>& parameters, const Points& points,
                  const std::vector<std::vector<double>>& deviations, Solution& solution) {
  constexpr std::size_t kFewest = 3;
  if (deviations.size() < kFewest) return false;
  std::vector<std::size_t> free;
  for (std::size_t k = 0; k < parameters.size(); ++k)
    if (!parameters[k].fixed && std::isfinite(solution.standard_errors[k])) free.push_back(k);
  std::vector<double> lengths, squares(free.size());
  const Matrix slopes = slopes_of(model, solution, points, free, lengths);
  Matrix normal(free.size(), std::vector<double>(free.size()));
  for (const auto& row : slopes)
    for (std::size_t a = 0; a < free.size(); ++a)
      for (std::size_t b = 0; b < free.size(); ++b) normal[a][b] += row[a] * row[b];
  for (const std::vector<double>& deviation : deviations) {
    std::vector<double> move(free.size());
    for (std::size_t m = 0; m < slopes.size(); ++m) {
      const double weight = points.standard_error.empty() ? 1 : 1 / points.standard_error[m];
      for (std::size_t k = 0; k < free.size(); ++k) move[k] += slopes[m][k] * deviation[m] * weight;
    }
    if (!eliminate(normal, move)) return false;
    for (std::size_t k = 0; k < free.size(); ++k) {
      const double step = move[k] / lengths[k];
      squares[k] += step * step;
    }
  }
  const auto count = static_cast<double>(deviations.size());
  for (std::size_t k = 0; k < free.size(); ++k)
    solution.standard_errors[free[k]] = std::sqrt(squares[k] / (count * (count - 1)));
  return true;
}

}  // namespace tautline::pipeline::fit

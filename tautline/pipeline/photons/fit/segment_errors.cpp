#include <cmath>
#include <utility>

#include "tautline/pipeline/photons/fit/least_squares.h"

namespace tautline::pipeline::fit {

namespace {

using Matrix = std::vector<std::vector<double>>;

// A free parameter, of one curve or shared by all.
struct Freed {
  std::size_t parameter, curve;
  bool shared;
};

std::vector<Freed> freed_of(const std::vector<Parameter>& parameters,
                            const std::vector<bool>& shared,
                            const std::vector<Solution>& solutions) {
  std::vector<Freed> all;
  for (std::size_t c = 0; c < solutions.size(); ++c)
    for (std::size_t k = 0; k < parameters.size(); ++k)
      if (!parameters[k].fixed && std::isfinite(solutions[c].standard_errors[k]) &&
          !(shared[k] && c > 0))
        all.push_back({k, c, shared[k]});
  return all;
}

// Weighted slopes [point][free parameter] of all curves' points, each column scaled to length 1, and these lengths.
Matrix slopes_of(const Model& model, const std::vector<Solution>& solutions,
                 const std::vector<Points>& points, const std::vector<Freed>& free,
                 std::vector<double>& lengths) {
  Matrix slopes;
  std::vector<double> gradient(solutions.front().values.size());
  lengths.assign(free.size(), 0);
  for (std::size_t c = 0; c < points.size(); ++c)
    for (std::size_t m = 0; m < points[c].lag_s.size(); ++m) {
      evaluate(model, solutions[c].values, points[c].lag_s[m], gradient);
      const double weight = points[c].standard_error.empty() ? 1 : 1 / points[c].standard_error[m];
      std::vector<double>& row = slopes.emplace_back();
      for (std::size_t k = 0; k < free.size(); ++k) {
        const bool moves = free[k].shared || free[k].curve == c;
        row.push_back(moves ? gradient[free[k].parameter] * weight : 0);
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

bool use_segments_together(const Model& model, const std::vector<Parameter>& parameters,
                           const std::vector<bool>& shared, const std::vector<Points>& points,
                           const std::vector<std::vector<std::vector<double>>>& deviations,
                           std::vector<Solution>& solutions) {
  constexpr std::size_t kFewest = 3;
  const std::size_t segments = deviations.front().size();
  for (const auto& one : deviations)
    if (one.size() != segments || segments < kFewest) return false;
  const std::vector<Freed> free = freed_of(parameters, shared, solutions);
  std::vector<double> lengths, squares(free.size());
  const Matrix slopes = slopes_of(model, solutions, points, free, lengths);
  Matrix normal(free.size(), std::vector<double>(free.size()));
  for (const auto& row : slopes)
    for (std::size_t a = 0; a < free.size(); ++a)
      for (std::size_t b = 0; b < free.size(); ++b) normal[a][b] += row[a] * row[b];
  for (std::size_t s = 0; s < segments; ++s) {
    std::vector<double> move(free.size());
    std::size_t row = 0;
    for (std::size_t c = 0; c < points.size(); ++c)
      for (std::size_t m = 0; m < points[c].lag_s.size(); ++m, ++row) {
        const double weight =
            points[c].standard_error.empty() ? 1 : 1 / points[c].standard_error[m];
        for (std::size_t k = 0; k < free.size(); ++k)
          move[k] += slopes[row][k] * deviations[c][s][m] * weight;
      }
    if (!eliminate(normal, move)) return false;
    for (std::size_t k = 0; k < free.size(); ++k) {
      const double step = move[k] / lengths[k];
      squares[k] += step * step;
    }
  }
  const auto count = static_cast<double>(segments);
  for (std::size_t k = 0; k < free.size(); ++k)
    for (std::size_t c = 0; c < solutions.size(); ++c)
      if (free[k].shared || free[k].curve == c)
        solutions[c].standard_errors[free[k].parameter] =
            std::sqrt(squares[k] / (count * (count - 1)));
  return true;
}

bool use_segments(const Model& model, const std::vector<Parameter>& parameters,
                  const Points& points, const std::vector<std::vector<double>>& deviations,
                  Solution& solution) {
  std::vector<Solution> one{solution};
  if (!use_segments_together(model, parameters, std::vector<bool>(parameters.size()), {points},
                             {deviations}, one))
    return false;
  solution = std::move(one.front());
  return true;
}

}  // namespace tautline::pipeline::fit

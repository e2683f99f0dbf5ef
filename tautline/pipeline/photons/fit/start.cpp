#include "tautline/pipeline/photons/fit/start.h"

#include <algorithm>
#include <cmath>

namespace tautline::pipeline::fit {

namespace {

struct Shape {
  double height, half_s;
};

// Means of a few neighbours: single lags are noisy.
double smooth(const Points& points, std::size_t at) {
  constexpr std::size_t kReach = 2;
  const std::size_t first = at < kReach ? 0 : at - kReach;
  const std::size_t last = std::min(at + kReach + 1, points.g.size());
  double sum = 0, weights = 0;
  for (std::size_t k = first; k < last; ++k) {
    const double error = points.standard_error.empty() ? 1 : points.standard_error[k];
    sum += points.g[k] / (error * error);
    weights += 1 / (error * error);
  }
  return sum / weights;
}

Shape shape_of(const Points& points) {
  if (points.g.empty()) return {1, 1e-4};
  const double height = smooth(points, 0);
  if (!(height > 0)) return {0.01, points.lag_s[points.lag_s.size() / 2]};
  for (std::size_t k = 1; k < points.g.size(); ++k)
    if (smooth(points, k) < height / 2) return {height, points.lag_s[k]};
  return {height, points.lag_s.back()};
}

void set(std::vector<Parameter>& parameters, const std::string& name, double value,
         const std::map<std::string, double>& given) {
  for (Parameter& p : parameters)
    if (p.name == name && !p.fixed && given.count(name) == 0)
      p.value = std::clamp(value, p.lower, p.upper);
}

}  // namespace

std::vector<std::vector<Parameter>> starts_of(Model model, const std::vector<Parameter>& parameters,
                                              const Points& points,
                                              const std::map<std::string, double>& given) {
  const Shape shape = shape_of(points);
  const double shortest = points.lag_s.empty() ? 1e-7 : points.lag_s.front();
  std::vector<Parameter> plain = parameters;
  set(plain, "n", 1 / shape.height, given);
  set(plain, "tau_d_s", shape.half_s, given);
  if (model == Model::diffusion_3d || model == Model::pixel_2d) return {plain};
  std::vector<std::vector<Parameter>> starts;
  for (const double share : {0.03, 0.2, 0.5}) {  // of the dark state, with its time between
    std::vector<Parameter> start = plain;
    set(start, "triplet", share, given);
    // Geometrically between the shortest lag and the diffusion time.
    set(start, "tau_t_s", std::sqrt(shortest * shape.half_s), given);
    set(start, "n", 1 / (shape.height * (1 - share)), given);
    if (model == Model::two_species_triplet) {
      const double apart = share < 0.1 ? 10 : 3;
      set(start, "tau_d_s", shape.half_s / apart, given);
      set(start, "tau_d2_s", shape.half_s * apart, given);
    }
    starts.push_back(std::move(start));
  }
  return starts;
}

}  // namespace tautline::pipeline::fit

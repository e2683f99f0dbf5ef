#include "tautline/pipeline/photons/fit/start.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>

namespace tautline::pipeline::fit {

namespace {

struct Form {
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

// The curve less a fraction of its first height, which decays at once.
Form form_of(const Points& points, double share_of_detector) {
  if (points.g.empty()) return {1, 1e-4};
  const double height = smooth(points, 0) * (1 - share_of_detector);
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

using Starts = std::vector<std::vector<Parameter>>;
using Given = std::map<std::string, double>;

// Replaces each start by one start for each change of it.
template <class Change>
Starts several(const Starts& starts, std::initializer_list<double> values, Change change) {
  Starts all;
  for (const auto& start : starts)
    for (const double value : values) {
      all.push_back(start);
      change(all.back(), value);
    }
  return all;
}

Starts starts_of_shape(Shape shape, const std::vector<Parameter>& parameters, const Form& form,
                       const Given& given) {
  std::vector<Parameter> plain = parameters;
  set(plain, "n", 1 / form.height, given);
  set(plain, "tau_d_s", form.half_s, given);
  set(plain, "beta", form.height, given);
  set(plain, "gamma_hz", std::log(2) / (2 * form.half_s), given);
  if (shape == Shape::flow_3d)
    return several({plain}, {1, 10}, [&](auto& start, double slower) {
      set(start, "tau_d_s", form.half_s * slower, given);
      set(start, "tau_v_s", form.half_s * (slower > 1 ? 1 : 3), given);
    });
  if (shape == Shape::two_species_3d)
    return several({plain}, {10, 3}, [&](auto& start, double apart) {
      set(start, "tau_d_s", form.half_s / apart, given);
      set(start, "tau_d2_s", form.half_s * apart, given);
    });
  return {plain};
}

}  // namespace

Starts starts_of(const Model& model, const std::vector<Parameter>& parameters, const Points& points,
                 const Given& given) {
  const double shortest = points.lag_s.empty() ? 1e-7 : points.lag_s.front();
  Starts all;
  for (const double detector : {0.05, 0.3, 0.7, 0.95}) {
    const Form form = form_of(points, model.afterpulsing ? detector : 0);
    Starts starts = starts_of_shape(model.shape, parameters, form, given);
    if (model.afterpulsing)
      for (auto& start : starts) {
        set(start, "afterpulse", form.height * detector / (1 - detector), given);
        set(start, "tau_a_s", 3 * shortest, given);
      }
    if (model.triplet)
      starts = several(starts, {0.03, 0.2, 0.5}, [&](auto& start, double share) {
        set(start, "triplet", share, given);
        // Geometrically between the shortest lag and the diffusion time.
        set(start, "tau_t_s", std::sqrt(shortest * form.half_s), given);
        set(start, "n", 1 / (form.height * (1 - share)), given);
        set(start, "beta", form.height * (1 - share), given);
      });
    all.insert(all.end(), starts.begin(), starts.end());
    if (!model.afterpulsing) break;
  }
  return all;
}

}  // namespace tautline::pipeline::fit

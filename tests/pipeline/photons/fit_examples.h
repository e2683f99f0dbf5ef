// Correlation curves of known parameters, for the tests of fits.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "tautline/core/correlation_curve.h"
#include "tautline/pipeline/photons/fit/model.h"
#include "tests/support/seed.h"

namespace tautline::tests {

using pipeline::fit::Model;
using pipeline::fit::Shape;

inline const Model kPlain{}, kTriplet{Shape::diffusion_3d, true, false},
    kTwoSpecies{Shape::two_species_3d, true, false}, kPixel{Shape::pixel_2d, false, false};
inline const Model kModels[] = {kPlain,
                                kTriplet,
                                kTwoSpecies,
                                kPixel,
                                {Shape::flow_3d, false, false},
                                {Shape::anomalous_3d, false, false},
                                {Shape::diffusion_3d, false, true},
                                {Shape::flow_3d, true, true},
                                {Shape::cumulants_1, false, false},
                                {Shape::cumulants_2, false, false},
                                {Shape::cumulants_3, false, false}};

inline std::vector<double> true_values(const Model& model) {
  std::vector<double> values;
  switch (model.shape) {
    case Shape::diffusion_3d:
      values = {3.5, 2e-4};
      break;
    case Shape::flow_3d:
      values = {3.5, 1e-3, 5e-4};
      break;
    case Shape::anomalous_3d:
      values = {3.5, 2e-4, 0.75};
      break;
    case Shape::two_species_3d:
      values = {3.5, 1e-4, 1e-2, 0.4};
      break;
    case Shape::pixel_2d:
      return {12, 0.02, 0.8, 0};
    case Shape::cumulants_1:
      return {0.4, 2000, 0};
    case Shape::cumulants_2:
      return {0.4, 2000, 0.2, 0};
    case Shape::cumulants_3:
      return {0.4, 2000, 0.2, 0.1, 0};
  }
  if (model.triplet) {
    values.push_back(0.25);
    values.push_back(model == kTwoSpecies ? 2e-6 : 3e-6);
  }
  if (model.afterpulsing) values.insert(values.end(), {0.3, 4e-7});
  values.insert(values.end(), {5, 0});
  return values;
}

/// Lags as a multi-tau correlator has them.
inline std::vector<double> multi_tau_lags() {
  std::vector<double> all;
  for (int level = 0; level < 20; ++level)
    for (int n = level == 0 ? 1 : 9; n <= 16; ++n) all.push_back(n * std::ldexp(2e-7, level));
  return all;
}

/// A curve for each set of values.
inline core::CorrelationCurves exact(const Model& model,
                                     const std::vector<std::vector<double>>& values,
                                     double relative_error) {
  core::CorrelationCurves c;
  c.curves = values.size();
  c.lag_s = multi_tau_lags();
  c.lags = c.lag_s.size();
  for (std::size_t k = 0; k < values.size(); ++k) {
    for (const double lag : c.lag_s) {
      c.g.push_back(pipeline::fit::evaluate(model, values[k], lag, {}));
      c.standard_error.push_back(relative_error * (0.05 + c.g.back()));
    }
    core::CurveSignal signal;
    signal.label = "sensor " + std::to_string(k);
    signal.row = static_cast<std::int64_t>(k / 8);
    signal.column = static_cast<std::int64_t>(k % 8);
    signal.mean_rate_hz = 1e4 + static_cast<double>(k);
    c.first.push_back(signal);
  }
  return c;
}

inline core::CorrelationCurves exact(const Model& model, std::size_t curves,
                                     double relative_error) {
  return exact(model, std::vector(curves, true_values(model)), relative_error);
}

/// Independent at every lag.
inline void add_noise(core::CorrelationCurves& c, std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  for (std::size_t k = 0; k < c.g.size(); ++k) c.g[k] += normal(random) * c.standard_error[k];
}

inline void add_noise(core::CorrelationCurves& c) {
  auto random = generator();
  add_noise(c, random);
}

}  // namespace tautline::tests

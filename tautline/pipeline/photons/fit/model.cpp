#include "tautline/pipeline/photons/fit/model.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "tautline/core/error.h"

namespace tautline::pipeline::fit {

namespace {

constexpr struct {
  Model model;
  std::string_view name;
} kNames[] = {{Model::diffusion_3d, "3d"},
              {Model::diffusion_3d_triplet, "3d+triplet"},
              {Model::two_species_triplet, "2x3d+triplet"},
              {Model::pixel_2d, "2d-pixel"}};

// A value with its derivatives by up to two parameters.
struct Diffusion {
  double value, by_tau, by_shape;
};

// 1 / ((1 + x) sqrt(1 + x / kappa^2)), x = lag / tau.
Diffusion through_focus(double lag, double tau, double kappa) {
  const double x = lag / tau, k2 = kappa * kappa;
  const double across = 1 / (1 + x), along = 1 / std::sqrt(1 + x / k2);
  const double value = across * along;
  const double by_x = -value * (across + along * along / (2 * k2));
  return {value, -by_x * x / tau, value * along * along * x / (k2 * kappa)};
}

// Of one axis: erf(p) + (exp(-p^2) - 1) / (sqrt(pi) p), the share of a pixel's width that its
// particles still fill after spreading by 1 / p of it; and its derivative by p.
struct Share {
  double value, by_p;
};

Share share_of(double p) {
  const double root_pi = std::sqrt(std::numbers::pi);
  // The difference of exp(-p^2) and 1 loses digits for small p.
  const double lost = std::expm1(-p * p);
  return {std::erf(p) + lost / (root_pi * p), -lost / (root_pi * p * p)};
}

// The square of that share over its value without spreading, p = 1 / sqrt(x + blur^2).
Diffusion across_pixel(double lag, double tau, double blur) {
  const double x = lag / tau, spread2 = x + blur * blur;
  if (spread2 <= 0) return {1, 0, 0};
  const double p = 1 / std::sqrt(spread2);
  const Share now = share_of(p);
  const double p3 = p * p * p;
  if (blur <= 0) return {now.value * now.value, now.value * now.by_p * p3 * x / tau, 0};
  const Share start = share_of(1 / blur);
  const double scale = 1 / (start.value * start.value);
  const double value = now.value * now.value * scale;
  const double by_spread2 = -now.value * now.by_p * p3 * scale;
  const double start_by_blur = -start.by_p / (blur * blur);
  return {value, -by_spread2 * x / tau,
          2 * blur * by_spread2 - 2 * value * start_by_blur / start.value};
}

// 1 + T / (1 - T) exp(-lag / tau_T)
struct Triplet {
  double value, by_fraction, by_tau;
};

Triplet triplet_of(double lag, double fraction, double tau) {
  const double decay = std::exp(-lag / tau), odds = fraction / (1 - fraction);
  return {1 + odds * decay, decay / ((1 - fraction) * (1 - fraction)),
          odds * decay * lag / (tau * tau)};
}

Parameter positive(const char* name, double value, double lower, double upper) {
  return {name, value, lower, upper, false, true};
}

double evaluate_one(bool triplet, std::span<const double> p, double lag, std::span<double> d) {
  // n, tau_d_s, [triplet, tau_t_s,] kappa, offset
  const std::size_t kappa = triplet ? 4 : 2;
  const Diffusion g = through_focus(lag, p[1], p[kappa]);
  const Triplet dark = triplet ? triplet_of(lag, p[2], p[3]) : Triplet{1, 0, 0};
  const double value = g.value * dark.value / p[0];
  if (!d.empty()) {
    d[0] = -value / p[0];
    d[1] = g.by_tau * dark.value / p[0];
    if (triplet) {
      d[2] = g.value * dark.by_fraction / p[0];
      d[3] = g.value * dark.by_tau / p[0];
    }
    d[kappa] = g.by_shape * dark.value / p[0];
    d[kappa + 1] = 1;
  }
  return value + p[kappa + 1];
}

double evaluate_two(std::span<const double> p, double lag, std::span<double> d) {
  // n, tau_d_s, tau_d2_s, fraction, triplet, tau_t_s, kappa, offset
  const Diffusion a = through_focus(lag, p[1], p[6]), b = through_focus(lag, p[2], p[6]);
  const Triplet dark = triplet_of(lag, p[4], p[5]);
  const double both = p[3] * a.value + (1 - p[3]) * b.value;
  const double value = both * dark.value / p[0], scale = dark.value / p[0];
  if (!d.empty()) {
    d[0] = -value / p[0];
    d[1] = p[3] * a.by_tau * scale;
    d[2] = (1 - p[3]) * b.by_tau * scale;
    d[3] = (a.value - b.value) * scale;
    d[4] = both * dark.by_fraction / p[0];
    d[5] = both * dark.by_tau / p[0];
    d[6] = (p[3] * a.by_shape + (1 - p[3]) * b.by_shape) * scale;
    d[7] = 1;
  }
  return value + p[7];
}

double evaluate_pixel(std::span<const double> p, double lag, std::span<double> d) {
  // n, tau_d_s, blur, offset
  const Diffusion g = across_pixel(lag, p[1], p[2]);
  if (!d.empty()) {
    d[0] = -g.value / (p[0] * p[0]);
    d[1] = g.by_tau / p[0];
    d[2] = g.by_shape / p[0];
    d[3] = 1;
  }
  return g.value / p[0] + p[3];
}

}  // namespace

Model parse_model(std::string_view name) {
  for (const auto& one : kNames)
    if (one.name == name) return one.model;
  throw core::Error(core::ErrorKind::config, "model", std::string(name),
                    "3d, 3d+triplet, 2x3d+triplet or 2d-pixel");
}

std::string_view name_of(Model model) {
  for (const auto& one : kNames)
    if (one.model == model) return one.name;
  return {};
}

std::vector<Parameter> parameters_of(Model model) {
  const Parameter n = positive("n", 1, 1e-6, 1e9), tau = positive("tau_d_s", 1e-4, 1e-10, 1e5);
  const Parameter dark{"triplet", 0.1, 0, 0.95, false, false};
  const Parameter tau_dark = positive("tau_t_s", 1e-6, 1e-10, 10);
  Parameter kappa = positive("kappa", 5, 1, 100);
  kappa.fixed = true;
  const Parameter offset{"offset", 0, -1e3, 1e3, true, false};
  switch (model) {
    case Model::diffusion_3d:
      return {n, tau, kappa, offset};
    case Model::diffusion_3d_triplet:
      return {n, tau, dark, tau_dark, kappa, offset};
    case Model::two_species_triplet:
      return {n,
              tau,
              positive("tau_d2_s", 1e-3, 1e-10, 1e5),
              {"fraction", 0.5, 0, 1},
              dark,
              tau_dark,
              kappa,
              offset};
    case Model::pixel_2d:
      return {n, tau, {"blur", 0, 0, 100, true, false}, offset};
  }
  return {};
}

double evaluate(Model model, std::span<const double> parameters, double lag_s,
                std::span<double> gradient) {
  switch (model) {
    case Model::diffusion_3d:
      return evaluate_one(false, parameters, lag_s, gradient);
    case Model::diffusion_3d_triplet:
      return evaluate_one(true, parameters, lag_s, gradient);
    case Model::two_species_triplet:
      return evaluate_two(parameters, lag_s, gradient);
    case Model::pixel_2d:
      return evaluate_pixel(parameters, lag_s, gradient);
  }
  return 0;
}

double amplitude(Model model, std::span<const double> parameters) {
  return evaluate(model, parameters, 0, {}) - parameters.back();
}

}  // namespace tautline::pipeline::fit

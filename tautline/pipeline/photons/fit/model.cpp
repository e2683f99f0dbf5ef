#include "tautline/pipeline/photons/fit/model.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "tautline/core/error.h"
#include "tautline/core/nearest_name.h"

namespace tautline::pipeline::fit {

namespace {

constexpr struct {
  Shape shape;
  std::string_view name;
} kNames[] = {{Shape::diffusion_3d, "3d"},           {Shape::flow_3d, "3d-flow"},
              {Shape::anomalous_3d, "3d-anomalous"}, {Shape::two_species_3d, "2x3d"},
              {Shape::pixel_2d, "2d-pixel"},         {Shape::cumulants_1, "cumulants1"},
              {Shape::cumulants_2, "cumulants2"},    {Shape::cumulants_3, "cumulants3"}};
constexpr std::string_view kTriplet = "+triplet", kAfterpulsing = "+afterpulsing";

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

// Along one axis: erf(p) + (exp(-p^2) - 1) / (sqrt(pi) p), the fraction of a pixel's width that its particles still
// fill after spreading by 1 / p of it; and its derivative by p.
struct Share {
  double value, by_p;
};

Share share_of(double p) {
  const double root_pi = std::sqrt(std::numbers::pi);
  // The difference of exp(-p^2) and 1 loses digits for small p.
  const double lost = std::expm1(-p * p);
  return {std::erf(p) + lost / (root_pi * p), -lost / (root_pi * p * p)};
}

// The square of that fraction over its value without spreading, p = 1 / sqrt(x + blur^2).
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

constexpr std::size_t kMostOwn = 3;

// A shape of height 1, its derivatives by the shape's own parameters (those after the first) and by kappa or blur.
struct Decay {
  double value = 0;
  double by_own[kMostOwn] = {};
  double by_focus = 0;
};

// The number of a shape's parameters between its height and the dark state, and whether kappa or blur follows.
std::size_t own_parameters(Shape shape) {
  switch (shape) {
    case Shape::diffusion_3d:
    case Shape::pixel_2d:
    case Shape::cumulants_1:
      return 1;
    case Shape::flow_3d:
    case Shape::anomalous_3d:
    case Shape::cumulants_2:
      return 2;
    case Shape::two_species_3d:
    case Shape::cumulants_3:
      break;
  }
  return 3;
}

bool has_focus(const Model& model) {
  return !is_scattering(model);
}

// D(lag; tau) exp(-(lag / tau_v)^2 / (1 + lag / tau))
Decay in_flow(double lag, double tau, double tau_v, double kappa) {
  const Diffusion g = through_focus(lag, tau, kappa);
  const double spread = 1 + lag / tau, moved = lag / tau_v;
  const double carried = std::exp(-moved * moved / spread);
  const double by_tau = -moved * moved / (spread * spread) * lag / (tau * tau);
  return {g.value * carried,
          {(g.by_tau + g.value * by_tau) * carried,
           g.value * carried * 2 * moved * moved / (spread * tau_v)},
          g.by_shape * carried};
}

// D with (lag / tau)^alpha in place of lag / tau.
Decay anomalous(double lag, double tau, double alpha, double kappa) {
  const double x = std::pow(lag / tau, alpha);
  const Diffusion g = through_focus(x, 1, kappa);  // by_tau at tau = 1 is -dG/dx x
  if (!(x > 0)) return {g.value, {}, 0};
  return {g.value, {g.by_tau * alpha / tau, -g.by_tau * std::log(lag / tau)}, g.by_shape};
}

// f D(lag; tau) + (1 - f) D(lag; tau_2)
Decay two_species(double lag, std::span<const double> own, double kappa) {
  const Diffusion a = through_focus(lag, own[0], kappa), b = through_focus(lag, own[1], kappa);
  const double f = own[2];
  return {f * a.value + (1 - f) * b.value,
          {f * a.by_tau, (1 - f) * b.by_tau, a.value - b.value},
          f * a.by_shape + (1 - f) * b.by_shape};
}

// exp(-2 x) (1 + pdi x^2 / 2 - skewness x^3 / 6)^2, x = gamma lag: with mu_2 = pdi gamma^2 and mu_3 = skewness gamma^3
// the moments of the distribution of decay rates.
Decay cumulants(double lag, std::span<const double> own) {
  const double x = own[0] * lag;
  const double pdi = own.size() > 1 ? own[1] : 0, skewness = own.size() > 2 ? own[2] : 0;
  const double decay = std::exp(-2 * x);
  const double series = 1 + pdi * x * x / 2 - skewness * x * x * x / 6;
  const double by_x = 2 * decay * series * (pdi * x - skewness * x * x / 2 - series);
  return {decay * series * series,
          {by_x * lag, decay * series * x * x, -decay * series * x * x * x / 3},
          0};
}

Decay decay_of(Shape shape, double lag, std::span<const double> own, double focus) {
  const auto one = [](const Diffusion& g) { return Decay{g.value, {g.by_tau}, g.by_shape}; };
  switch (shape) {
    case Shape::diffusion_3d:
      return one(through_focus(lag, own[0], focus));
    case Shape::flow_3d:
      return in_flow(lag, own[0], own[1], focus);
    case Shape::anomalous_3d:
      return anomalous(lag, own[0], own[1], focus);
    case Shape::two_species_3d:
      return two_species(lag, own, focus);
    case Shape::pixel_2d:
      return one(across_pixel(lag, own[0], focus));
    case Shape::cumulants_1:
    case Shape::cumulants_2:
    case Shape::cumulants_3:
      break;
  }
  return cumulants(lag, own);
}

// First index of each group of parameters.
struct Places {
  explicit Places(const Model& model)
      : own(own_parameters(model.shape)),
        dark(1 + own),
        after(dark + (model.triplet ? 2 : 0)),
        focus(after + (model.afterpulsing ? 2 : 0)),
        offset(focus + (has_focus(model) ? 1 : 0)) {}
  std::size_t own, dark, after, focus, offset;
};

}  // namespace

bool is_scattering(const Model& model) {
  return model.shape >= Shape::cumulants_1;
}

bool has_kappa(const Model& model) {
  return model.shape != Shape::pixel_2d && !is_scattering(model);
}

std::string model_names() {
  std::string names;
  for (const auto& one : kNames) names += (names.empty() ? "" : ", ") + std::string(one.name);
  return names + "; behind it +triplet or +afterpulsing or both";
}

Model parse_model(std::string_view name) {
  Model model;
  std::string_view shape = name;
  for (bool more = true; more;) {
    more = false;
    for (const auto& [ending, flag] :
         {std::pair{kTriplet, &model.triplet}, std::pair{kAfterpulsing, &model.afterpulsing}})
      if (shape.ends_with(ending) && !*flag) {
        shape.remove_suffix(ending.size());
        *flag = more = true;
      }
  }
  for (const auto& one : kNames)
    if (one.name == shape) {
      model.shape = one.shape;
      return model;
    }
  std::vector<std::string> known;
  for (const auto& one : kNames)
    for (const bool triplet : {false, true})
      for (const bool afterpulsing : {false, true})
        known.push_back(name_of({one.shape, triplet, afterpulsing}));
  throw core::Error(core::ErrorKind::config, "model", std::string(name), model_names(),
                    core::did_you_mean(name, known));
}

std::string name_of(const Model& model) {
  std::string name;
  for (const auto& one : kNames)
    if (one.shape == model.shape) name = one.name;
  if (model.triplet) name += kTriplet;
  if (model.afterpulsing) name += kAfterpulsing;
  return name;
}

std::vector<Parameter> parameters_of(const Model& model) {
  const Parameter tau = positive("tau_d_s", 1e-4, 1e-10, 1e5);
  std::vector<Parameter> all;
  if (is_scattering(model)) {
    all = {positive("beta", 0.5, 1e-6, 10), positive("gamma_hz", 1e3, 1e-5, 1e10)};
    if (model.shape != Shape::cumulants_1) all.push_back({"pdi", 0.1, -2, 4, false, false});
    if (model.shape == Shape::cumulants_3) all.push_back({"skewness", 0, -10, 10, false, false});
  } else {
    all = {positive("n", 1, 1e-6, 1e9), tau};
    if (model.shape == Shape::flow_3d) all.push_back(positive("tau_v_s", 1e-3, 1e-10, 1e5));
    if (model.shape == Shape::anomalous_3d) all.push_back({"alpha", 0.9, 0.05, 2, false, false});
    if (model.shape == Shape::two_species_3d) {
      all.push_back(positive("tau_d2_s", 1e-3, 1e-10, 1e5));
      all.push_back({"fraction", 0.5, 0, 1, false, false});
    }
  }
  if (model.triplet) {
    all.push_back({"triplet", 0.1, 0, 0.95, false, false});
    all.push_back(positive("tau_t_s", 1e-6, 1e-10, 10));
  }
  if (model.afterpulsing) {
    all.push_back(positive("afterpulse", 0.01, 1e-9, 1e6));
    all.push_back(positive("tau_a_s", 1e-7, 1e-11, 1e-2));
  }
  if (has_focus(model)) {
    if (model.shape == Shape::pixel_2d) {
      all.push_back({"blur", 0, 0, 100, true, false});
    } else {
      all.push_back(positive("kappa", 5, 1, 100));
      all.back().fixed = true;
    }
  }
  all.push_back({"offset", 0, -1e3, 1e3, true, false});
  return all;
}

// G = height [1 + T / (1 - T) exp(-lag / tau_T)] decay(lag) + a exp(-lag / tau_a) + offset,
// height = 1 / n, or beta of scattered light.
double evaluate(const Model& model, std::span<const double> p, double lag, std::span<double> d) {
  const Places at(model);
  const bool scattering = is_scattering(model);
  const Decay g =
      decay_of(model.shape, lag, p.subspan(1, at.own), has_focus(model) ? p[at.focus] : 0);
  const Triplet dark =
      model.triplet ? triplet_of(lag, p[at.dark], p[at.dark + 1]) : Triplet{1, 0, 0};
  const double height = scattering ? p[0] : 1 / p[0];
  const double after = model.afterpulsing ? std::exp(-lag / p[at.after + 1]) : 0;
  const double light = height * dark.value * g.value;
  if (!d.empty()) {
    d[0] = scattering ? dark.value * g.value : -light / p[0];
    for (std::size_t k = 0; k < at.own; ++k) d[1 + k] = height * dark.value * g.by_own[k];
    if (model.triplet) {
      d[at.dark] = height * g.value * dark.by_fraction;
      d[at.dark + 1] = height * g.value * dark.by_tau;
    }
    if (model.afterpulsing) {
      const double tau = p[at.after + 1];
      d[at.after] = after;
      d[at.after + 1] = p[at.after] * after * lag / (tau * tau);
    }
    if (has_focus(model)) d[at.focus] = height * dark.value * g.by_focus;
    d[at.offset] = 1;
  }
  return light + (model.afterpulsing ? p[at.after] * after : 0) + p[at.offset];
}

double amplitude(const Model& model, std::span<const double> p) {
  const Places at(model);
  const double height = is_scattering(model) ? p[0] : 1 / p[0];
  return height * (model.triplet ? 1 / (1 - p[at.dark]) : 1);
}

}  // namespace tautline::pipeline::fit

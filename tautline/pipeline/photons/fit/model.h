// The models that are fitted to curves: values, derivatives, parameters, bounds. docs/maths/fit.md has the formulae.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tautline::pipeline::fit {

/// The decay, without dark states and detector effects.
enum class Shape {
  diffusion_3d,    ///< "3d": one species through a Gaussian focus
  flow_3d,         ///< "3d-flow": the same in a uniform flow across the focus
  anomalous_3d,    ///< "3d-anomalous": mean squared displacement that grows as a power of time
  two_species_3d,  ///< "2x3d"
  pixel_2d,        ///< "2d-pixel": in a membrane, seen by square pixels
  cumulants_1,     ///< "cumulants1": light scattered by particles of one size
  cumulants_2,     ///< "cumulants2": of sizes with a variance
  cumulants_3      ///< "cumulants3": of sizes with a skewness, too
};

/// A shape with optional factors and terms: "3d+triplet+afterpulsing".
struct Model {
  Shape shape = Shape::diffusion_3d;
  bool triplet = false;       ///< a dark state: a factor
  bool afterpulsing = false;  ///< of the detector: a term
  bool operator==(const Model&) const = default;
};

/// Throws Error(config) that lists the names.
Model parse_model(std::string_view name);
std::string name_of(const Model& model);
/// "3d, 3d-flow, ... ; +triplet, +afterpulsing".
std::string model_names();

/// Whether the curve is of scattered light: its height is the coherence factor, not 1/N.
bool is_scattering(const Model& model);
/// Whether the curve is of a Gaussian focus, whose length over its waist is the parameter kappa.
bool has_kappa(const Model& model);

struct Parameter {
  std::string name;
  double value = 0;  ///< start of the fit, or the fixed value
  double lower = 0, upper = 0;
  bool fixed = false;
  bool logarithmic = false;  ///< the search is over its logarithm: positive, of any magnitude
};

/// The parameters of a model, with bounds that hold for any measurement. Times in seconds.
///
/// | name       | of                  | meaning                                                |
/// | n          | all but cumulants   | mean number of particles in the effective volume, pixel |
/// | tau_d_s    | the same            | diffusion time w^2 / (4 D); of pixels a^2 / (4 D)      |
/// | tau_v_s    | 3d-flow             | time in which the flow crosses the waist, w / v        |
/// | alpha      | 3d-anomalous        | exponent of the mean squared displacement              |
/// | tau_d2_s   | 2x3d                | that of the second species                             |
/// | fraction   | 2x3d                | share of the first species, 0 to 1                     |
/// | beta       | cumulants...        | coherence factor: the height                           |
/// | gamma_hz   | cumulants...        | mean decay rate of the field, D q^2                    |
/// | pdi        | cumulants2, 3       | mu_2 / gamma^2, the polydispersity index               |
/// | skewness   | cumulants3          | mu_3 / gamma^3                                         |
/// | triplet    | ...+triplet         | fraction of dark particles T                           |
/// | tau_t_s    | ...+triplet         | lifetime of the dark state                             |
/// | afterpulse | ...+afterpulsing    | height of the detector's term at lag 0                 |
/// | tau_a_s    | ...+afterpulsing    | mean delay of its false pulses                         |
/// | kappa      | 3d...               | length of the focus over its waist; fixed unless freed |
/// | blur       | 2d-pixel            | waist of the point spread function over a; fixed       |
/// | offset     | all                 | G at infinite lag; fixed at 0 unless freed             |
std::vector<Parameter> parameters_of(const Model& model);

/// G at `lag_s`, and its derivative by each parameter in the order of parameters_of() unless
/// `gradient` is empty.
double evaluate(const Model& model, std::span<const double> parameters, double lag_s,
                std::span<double> gradient);

/// G(0) without offset and afterpulsing: the curve's height, including the dark state's part.
double amplitude(const Model& model, std::span<const double> parameters);

}  // namespace tautline::pipeline::fit

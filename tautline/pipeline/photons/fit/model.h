// The models of diffusion that curves are fitted with: values, derivatives, parameters, bounds.
// docs/maths/fit.md has the formulae.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tautline::pipeline::fit {

enum class Model {
  diffusion_3d,          ///< "3d": one species through a Gaussian focus
  diffusion_3d_triplet,  ///< "3d+triplet"
  two_species_triplet,   ///< "2x3d+triplet"
  pixel_2d               ///< "2d-pixel": in a membrane, seen by square pixels
};

/// Throws Error(config) that lists the names.
Model parse_model(std::string_view name);
std::string_view name_of(Model model);

struct Parameter {
  std::string name;
  double value = 0;  ///< where the fit starts, or stays when fixed
  double lower = 0, upper = 0;
  bool fixed = false;
  bool logarithmic = false;  ///< searched for by its logarithm: positive, of any magnitude
};

/// The parameters of a model, with bounds that hold for any measurement. Times in seconds.
///
/// | name       | of                  | meaning                                                |
/// | n          | all                 | mean number of particles in the effective volume, pixel |
/// | tau_d_s    | all                 | diffusion time w^2 / (4 D); of pixels a^2 / (4 D)      |
/// | tau_d2_s   | 2x3d+triplet        | that of the second species                             |
/// | fraction   | 2x3d+triplet        | share of the first species, 0 to 1                     |
/// | triplet    | ...+triplet         | fraction of dark particles T                           |
/// | tau_t_s    | ...+triplet         | lifetime of the dark state                             |
/// | kappa      | 3d...               | length of the focus over its waist; fixed unless freed |
/// | blur       | 2d-pixel            | waist of the point spread function over a; fixed       |
/// | offset     | all                 | G at infinite lag; fixed at 0 unless freed             |
std::vector<Parameter> parameters_of(Model model);

/// G at `lag_s`, and its derivative by each parameter in the order of parameters_of() unless
/// `gradient` is empty.
double evaluate(Model model, std::span<const double> parameters, double lag_s,
                std::span<double> gradient);

/// G(0) without the offset: what the curve rises to, the dark state's share included.
double amplitude(Model model, std::span<const double> parameters);

}  // namespace tautline::pipeline::fit

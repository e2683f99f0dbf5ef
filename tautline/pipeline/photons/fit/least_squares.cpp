#include "tautline/pipeline/photons/fit/least_squares.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "tautline/core/error.h"
#include "tautline/core/field_text.h"
#ifdef TAUTLINE_FIT
#include <cminpack.h>
#endif

namespace tautline::pipeline::fit {

static constexpr const char* kAtABound = " is at a bound";

std::string without_error(const std::string& parameter, double standard_error,
                          const std::string& trouble) {
  if (standard_error == 0) return "held";
  const std::string at_bound = "; " + parameter + kAtABound;
  return ("; " + trouble).find(at_bound) != std::string::npos ? "at its bound" : "not determined";
}

#ifdef TAUTLINE_FIT

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
// Relative tolerances of the sum of squares and of the parameters: far below any standard error.
constexpr double kTolerance = 1e-10;
constexpr int kMostEvaluations = 500;
// Beyond this angle, near a quarter turn, a parameter is at its bound.
constexpr double kAtBound = 1e-3;

// MINPACK has no bounds: the search is over an angle, whose sine runs from the lower to the upper bound (of the
// logarithm, for logarithmic parameters), as in MINUIT and lmfit.
class Coordinate {
 public:
  explicit Coordinate(const Parameter& p)
      : logarithmic_(p.logarithmic),
        lower_(inner(p.lower)),
        half_(0.5 * (inner(p.upper) - inner(p.lower))) {}

  double angle(double value) const {
    return std::asin(std::clamp((inner(value) - lower_) / half_ - 1, -1.0, 1.0));
  }
  double value(double angle) const {
    const double at = lower_ + half_ * (std::sin(angle) + 1);
    return logarithmic_ ? std::exp(at) : at;
  }
  double slope(double angle) const {
    return half_ * std::cos(angle) * (logarithmic_ ? value(angle) : 1);
  }
  static bool at_bound(double angle) { return std::abs(std::cos(angle)) < kAtBound; }

 private:
  double inner(double value) const { return logarithmic_ ? std::log(value) : value; }
  bool logarithmic_;
  double lower_, half_;
};

// A free number of the search: a parameter of one curve, or of all.
struct Unknown {
  std::size_t parameter, curve;
  bool shared;
};

struct LeastSquares {
  Model model;
  const std::vector<std::vector<Parameter>>* parameters;  // [curve]
  const std::vector<Points>* points;                      // [curve]
  std::vector<Unknown> unknowns;
  std::vector<Coordinate> coordinates;
  std::vector<std::vector<double>> values;  // [curve]
  std::vector<double> gradient;

  void place(const double* angles) {
    for (std::size_t k = 0; k < unknowns.size(); ++k) {
      const Unknown& one = unknowns[k];
      const double value = coordinates[k].value(angles[k]);
      if (!one.shared) values[one.curve][one.parameter] = value;
      for (std::size_t c = 0; one.shared && c < values.size(); ++c)
        values[c][one.parameter] = value;
    }
  }
};

int residuals(void* context, int, int free, const double* angles, double* differences,
              double* slopes, int stride, int what) {
  auto& problem = *static_cast<LeastSquares*>(context);
  problem.place(angles);
  const std::span<double> gradient = what == 2 ? std::span(problem.gradient) : std::span<double>();
  int row = 0;
  for (std::size_t c = 0; c < problem.points->size(); ++c) {
    const Points& points = (*problem.points)[c];
    for (std::size_t m = 0; m < points.g.size(); ++m, ++row) {
      const double weight = points.standard_error.empty() ? 1 : 1 / points.standard_error[m];
      const double g = evaluate(problem.model, problem.values[c], points.lag_s[m], gradient);
      if (what != 2) {
        differences[row] = (g - points.g[m]) * weight;
        continue;
      }
      for (int k = 0; k < free; ++k) {
        const auto at = static_cast<std::size_t>(k);
        const Unknown& one = problem.unknowns[at];
        slopes[row + k * stride] =
            one.shared || one.curve == c
                ? gradient[one.parameter] * weight * problem.coordinates[at].slope(angles[k])
                : 0;
      }
    }
  }
  return 0;
}

std::string trouble_of(int info) {
  if (info >= 1 && info <= 4) return {};
  if (info == 5) return "no end after " + std::to_string(kMostEvaluations) + " evaluations";
  if (info >= 6) return {};  // as close as rounding allows
  return "improper input";
}

void add_trouble(Solution& solution, const std::string& what) {
  solution.trouble += (solution.trouble.empty() ? "" : "; ") + what;
}

// lmder's result: R of the QR factorisation, packed in the upper triangle of `slopes`.
void find_errors(const LeastSquares& problem, std::vector<double>& slopes, std::vector<int>& pivots,
                 const std::vector<double>& angles, double scale,
                 std::vector<Solution>& solutions) {
  const std::size_t free = problem.unknowns.size(), points = slopes.size() / free;
  std::vector<double> work(free);
  covar(static_cast<int>(free), slopes.data(), static_cast<int>(points), pivots.data(), 1e-12,
        work.data());
  for (std::size_t k = 0; k < free; ++k) {
    const Unknown& one = problem.unknowns[k];
    const double variance = slopes[k * points + k];
    const double slope = problem.coordinates[k].slope(angles[k]);
    const bool at_bound = Coordinate::at_bound(angles[k]);
    const bool known = variance > 0 && !at_bound;
    for (std::size_t c = 0; c < solutions.size(); ++c) {
      if (!one.shared && one.curve != c) continue;
      solutions[c].standard_errors[one.parameter] =
          known ? std::sqrt(variance * scale) * std::abs(slope) : kNan;
      if (!known)
        add_trouble(solutions[c], (*problem.parameters)[c][one.parameter].name +
                                      (at_bound ? kAtABound : " is not determined"));
    }
  }
}

void check(const std::vector<Parameter>& parameters, const Points& points) {
  for (const Parameter& p : parameters)
    if (!p.fixed && !(p.lower < p.upper && p.value >= p.lower && p.value <= p.upper &&
                      (!p.logarithmic || p.lower > 0)))
      throw core::Error(core::ErrorKind::config, "fit parameter " + p.name,
                        core::text::write_number(p.value),
                        "a start from " + core::text::write_number(p.lower) + " to " +
                            core::text::write_number(p.upper));
  if (points.lag_s.size() != points.g.size() ||
      (!points.standard_error.empty() && points.standard_error.size() != points.g.size()))
    throw core::Error(core::ErrorKind::config, "points", std::to_string(points.g.size()),
                      "as many lags and standard errors");
}

void add_unknowns(LeastSquares& problem, const std::vector<bool>& shared) {
  for (std::size_t c = 0; c < problem.parameters->size(); ++c) {
    const std::vector<Parameter>& parameters = (*problem.parameters)[c];
    std::vector<double>& values = problem.values.emplace_back();
    for (std::size_t k = 0; k < parameters.size(); ++k) {
      values.push_back(parameters[k].value);
      if (parameters[k].fixed || (shared[k] && c > 0)) continue;
      problem.unknowns.push_back({k, c, shared[k]});
      problem.coordinates.emplace_back(parameters[k]);
    }
  }
  problem.gradient.resize(problem.parameters->front().size());
}

// Clears the solution: a start is no result.
void give_up(const LeastSquares& problem, std::size_t points, std::vector<Solution>& solutions) {
  const std::size_t free = problem.unknowns.size();
  for (Solution& one : solutions) {
    one.trouble = free == 0 ? "nothing to fit"
                            : "only " + std::to_string(points) + " points for " +
                                  std::to_string(free) + " parameters";
    one.chi_squared = kNan;
  }
  for (const Unknown& one : problem.unknowns)
    for (std::size_t c = 0; c < solutions.size(); ++c)
      if (one.shared || one.curve == c)
        solutions[c].values[one.parameter] = solutions[c].standard_errors[one.parameter] = kNan;
}

std::vector<Solution> empty_solutions(const LeastSquares& problem) {
  std::vector<Solution> solutions(problem.points->size());
  std::size_t shared = 0;
  for (const Unknown& one : problem.unknowns) shared += one.shared ? 1 : 0;
  for (std::size_t c = 0; c < solutions.size(); ++c) {
    Solution& one = solutions[c];
    one.values = problem.values[c];
    one.standard_errors.assign(one.values.size(), 0);
    one.degrees_of_freedom = static_cast<int>((*problem.points)[c].g.size()) -
                             static_cast<int>((shared + solutions.size() - 1) / solutions.size());
    for (const Unknown& unknown : problem.unknowns)
      one.degrees_of_freedom -= !unknown.shared && unknown.curve == c ? 1 : 0;
  }
  return solutions;
}

}  // namespace

std::vector<Solution> solve_together(const Model& model,
                                     const std::vector<std::vector<Parameter>>& starts,
                                     const std::vector<bool>& shared,
                                     const std::vector<Points>& points) {
  constexpr std::size_t kMostSlopes = std::size_t{1} << 27;  // a gigabyte
  for (std::size_t c = 0; c < points.size(); ++c) check(starts[c], points[c]);
  LeastSquares problem{model, &starts, &points, {}, {}, {}, {}};
  add_unknowns(problem, shared);
  std::vector<Solution> solutions = empty_solutions(problem);
  std::size_t m = 0;
  for (const Points& one : points) m += one.g.size();
  const std::size_t n = problem.unknowns.size();
  if (n == 0 || m <= n) {
    give_up(problem, m, solutions);
    return solutions;
  }
  if (m * n > kMostSlopes)
    throw core::Error(core::ErrorKind::config, "shared",
                      std::to_string(n) + " parameters of " + std::to_string(m) + " points",
                      "at most " + std::to_string(kMostSlopes) + " products of both",
                      "fit fewer curves together");
  std::vector<double> angles(n), differences(m), slopes(m * n), scale(n), qtf(n), work(3 * n + m);
  std::vector<int> pivots(n);
  for (std::size_t k = 0; k < n; ++k) {
    const Unknown& one = problem.unknowns[k];
    // At a bound the slope is zero, and the search would stay there.
    angles[k] =
        std::clamp(problem.coordinates[k].angle(starts[one.curve][one.parameter].value), -1.4, 1.4);
  }
  int evaluations = 0, derivatives = 0;
  const int count = static_cast<int>(m), free = static_cast<int>(n);
  const int info =
      lmder(residuals, &problem, count, free, angles.data(), differences.data(), slopes.data(),
            count, kTolerance, kTolerance, 0, kMostEvaluations, scale.data(), 1, 1.0, 0,
            &evaluations, &derivatives, pivots.data(), qtf.data(), work.data(), work.data() + n,
            work.data() + 2 * n, work.data() + 3 * n);
  problem.place(angles.data());
  double total = 0;
  std::size_t row = 0;
  for (std::size_t c = 0; c < points.size(); ++c) {
    Solution& one = solutions[c];
    one.values = problem.values[c];
    for (std::size_t k = 0; k < points[c].g.size(); ++k, ++row)
      one.chi_squared += differences[row] * differences[row];
    one.trouble = trouble_of(info);
    one.converged = one.trouble.empty() && std::isfinite(one.chi_squared);
    total += one.chi_squared;
  }
  const double unit =
      points.front().standard_error.empty() ? total / static_cast<double>(m - n) : 1;
  find_errors(problem, slopes, pivots, angles, unit, solutions);
  return solutions;
}

#else

std::vector<Solution> solve_together(const Model&, const std::vector<std::vector<Parameter>>&,
                                     const std::vector<bool>&, const std::vector<Points>&) {
  throw core::Error(core::ErrorKind::unsupported, "fit", "least squares", "a build with cminpack",
                    "install libcminpack-dev and build with -DTAUTLINE_FIT=ON");
}

#endif

Solution solve(const Model& model, const std::vector<Parameter>& parameters, const Points& points) {
  return solve_together(model, {parameters}, std::vector<bool>(parameters.size()), {points})
      .front();
}

}  // namespace tautline::pipeline::fit

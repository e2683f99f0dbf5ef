#include "tautline/pipeline/photons/fit/least_squares.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tautline/core/error.h"
#ifdef TAUTLINE_FIT
#include <cminpack.h>
#endif

namespace tautline::pipeline::fit {

#ifdef TAUTLINE_FIT

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
// Relative, of the sum of squares and of the parameters: far below any standard error.
constexpr double kTolerance = 1e-10;
constexpr int kMostEvaluations = 500;
// An angle this near to a quarter turn has left its parameter at the bound.
constexpr double kAtBound = 1e-3;

// MINPACK has no bounds: it searches an angle, whose sine runs from the lower to the upper bound
// (of the logarithm, for parameters that are searched so), as MINUIT and lmfit do.
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

struct Problem {
  Model model;
  const std::vector<Parameter>* parameters;
  const Points* points;
  std::vector<std::size_t> free;  // which parameters are searched for
  std::vector<Coordinate> coordinates;
  std::vector<double> values, gradient;

  void place(const double* angles) {
    for (std::size_t k = 0; k < free.size(); ++k) values[free[k]] = coordinates[k].value(angles[k]);
  }
  double weight(std::size_t point) const {
    return points->standard_error.empty() ? 1 : 1 / points->standard_error[point];
  }
};

int residuals(void* context, int count, int free, const double* angles, double* differences,
              double* slopes, int stride, int what) {
  auto& problem = *static_cast<Problem*>(context);
  problem.place(angles);
  for (int m = 0; m < count; ++m) {
    const auto point = static_cast<std::size_t>(m);
    const double weight = problem.weight(point);
    const std::span<double> gradient =
        what == 2 ? std::span(problem.gradient) : std::span<double>();
    const double g =
        evaluate(problem.model, problem.values, problem.points->lag_s[point], gradient);
    if (what != 2) {
      differences[m] = (g - problem.points->g[point]) * weight;
      continue;
    }
    for (int k = 0; k < free; ++k) {
      const auto coordinate = static_cast<std::size_t>(k);
      slopes[m + k * stride] = gradient[problem.free[coordinate]] * weight *
                               problem.coordinates[coordinate].slope(angles[k]);
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

// What lmder leaves: R of the QR factorisation, packed in the upper triangle of `slopes`.
void find_errors(const Problem& problem, std::vector<double>& slopes, std::vector<int>& pivots,
                 const std::vector<double>& angles, double scale, Solution& solution) {
  const int free = static_cast<int>(problem.free.size());
  const int points = static_cast<int>(problem.points->g.size());
  std::vector<double> work(problem.free.size());
  const std::vector<double> before = slopes;
  covar(free, slopes.data(), points, pivots.data(), 1e-12, work.data());
  for (int k = 0; k < free; ++k) {
    const auto at = static_cast<std::size_t>(k);
    const double variance = slopes[at * static_cast<std::size_t>(points) + at];
    const double slope = problem.coordinates[at].slope(angles[at]);
    const bool known = variance > 0 && !Coordinate::at_bound(angles[at]);
    solution.standard_errors[problem.free[at]] =
        known ? std::sqrt(variance * scale) * std::abs(slope) : kNan;
    if (known) continue;
    if (!solution.trouble.empty()) solution.trouble += "; ";
    solution.trouble += (*problem.parameters)[problem.free[at]].name +
                        (variance > 0 ? " is at a bound" : " is not determined");
  }
}

void check(const std::vector<Parameter>& parameters, const Points& points) {
  for (const Parameter& p : parameters)
    if (!p.fixed && !(p.lower < p.upper && p.value >= p.lower && p.value <= p.upper &&
                      (!p.logarithmic || p.lower > 0)))
      throw core::Error(
          core::ErrorKind::config, "fit parameter " + p.name, std::to_string(p.value),
          "a start from " + std::to_string(p.lower) + " to " + std::to_string(p.upper));
  if (points.lag_s.size() != points.g.size() ||
      (!points.standard_error.empty() && points.standard_error.size() != points.g.size()))
    throw core::Error(core::ErrorKind::config, "points", std::to_string(points.g.size()),
                      "as many lags and standard errors");
}

}  // namespace

Solution solve(Model model, const std::vector<Parameter>& parameters, const Points& points) {
  check(parameters, points);
  Problem problem{model, &parameters, &points, {}, {}, {}, {}};
  for (std::size_t k = 0; k < parameters.size(); ++k) {
    problem.values.push_back(parameters[k].value);
    if (parameters[k].fixed) continue;
    problem.free.push_back(k);
    problem.coordinates.emplace_back(parameters[k]);
  }
  problem.gradient.resize(parameters.size());
  Solution solution;
  solution.values = problem.values;
  solution.standard_errors.assign(parameters.size(), 0);
  const int count = static_cast<int>(points.g.size()), free = static_cast<int>(problem.free.size());
  solution.degrees_of_freedom = count - free;
  if (free == 0 || count <= free) {
    solution.trouble = free == 0 ? "nothing to fit"
                                 : "only " + std::to_string(count) + " points for " +
                                       std::to_string(free) + " parameters";
    // A start is no result.
    for (const std::size_t k : problem.free)
      solution.values[k] = solution.standard_errors[k] = kNan;
    solution.chi_squared = kNan;
    return solution;
  }
  const auto n = static_cast<std::size_t>(free), m = static_cast<std::size_t>(count);
  std::vector<double> angles(n), differences(m), slopes(m * n), scale(n), qtf(n), work(3 * n + m);
  std::vector<int> pivots(n);
  for (std::size_t k = 0; k < n; ++k)
    // A start on a bound would have no slope to leave it by.
    angles[k] =
        std::clamp(problem.coordinates[k].angle(parameters[problem.free[k]].value), -1.4, 1.4);
  int evaluations = 0, derivatives = 0;
  const int info =
      lmder(residuals, &problem, count, free, angles.data(), differences.data(), slopes.data(),
            count, kTolerance, kTolerance, 0, kMostEvaluations, scale.data(), 1, 1.0, 0,
            &evaluations, &derivatives, pivots.data(), qtf.data(), work.data(), work.data() + n,
            work.data() + 2 * n, work.data() + 3 * n);
  problem.place(angles.data());
  solution.values = problem.values;
  for (const double difference : differences) solution.chi_squared += difference * difference;
  solution.trouble = trouble_of(info);
  solution.converged = solution.trouble.empty() && std::isfinite(solution.chi_squared);
  const double unit =
      points.standard_error.empty() ? solution.chi_squared / solution.degrees_of_freedom : 1;
  find_errors(problem, slopes, pivots, angles, unit, solution);
  return solution;
}

#else

Solution solve(Model, const std::vector<Parameter>&, const Points&) {
  throw core::Error(core::ErrorKind::unsupported, "fit", "least squares", "a build with cminpack",
                    "install libcminpack-dev and build with -DTAUTLINE_FIT=ON");
}

#endif

}  // namespace tautline::pipeline::fit

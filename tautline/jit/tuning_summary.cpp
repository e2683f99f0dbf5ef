#include "tautline/jit/tuning_summary.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "tautline/jit/json.h"
#include "tautline/jit/tuning_sweep.h"

namespace tautline::jit {

namespace {

constexpr std::size_t kBins = 40;

std::vector<double> measured_rates(const TunedProblem& problem) {
  std::vector<double> rates;
  for (const Result& result : problem.report.results)
    if (result.outcome == Outcome::measured) rates.push_back(problem.rate(result.seconds));
  return rates;
}

double best_seconds(const TunedProblem& problem) {
  return problem.report.best() == nullptr ? 0 : problem.report.best()->seconds;
}

// The time of every configuration; of the final rounds for configurations in them.
std::map<Configuration, double> measured_seconds(const TunedProblem& problem) {
  std::map<Configuration, double> times;
  for (const auto* list : {&problem.report.results, &problem.report.finalists})
    for (const Result& result : *list)
      if (result.outcome == Outcome::measured) times[result.configuration] = result.seconds;
  return times;
}

Json distribution_object(const Distribution& d, const TunedProblem& problem) {
  const char* sample = problem.report.whole_space                     ? "whole space"
                       : problem.strategy == StrategyKind::random     ? "random sample"
                       : problem.strategy == StrategyKind::exhaustive ? "first part of the space"
                                                                      : "near the best";
  return {{"sample", sample},
          {"count", d.count},
          {"mean_rate", d.mean},
          {"deviation", d.deviation},
          {"least_rate", d.least},
          {"most_rate", d.most},
          {"optimum_sigmas", d.optimum_sigmas},
          {"bin_width", d.bin_width},
          {"bins", d.bins}};
}

Json results_array(const std::vector<Result>& results) {
  Json list = Json::array();
  for (const Result& result : results) list.push_back(result_object(result));
  return list;
}

Json problem_object(const TunedProblem& problem) {
  const TuningSearchReport& report = problem.report;
  Json object{{"name", problem.name}};
  object.update(key_object(problem.key));
  object.update(Json{{"strategy", to_string(problem.strategy)},
                     {"seed", problem.seed},
                     {"budget_s", problem.budget_s},
                     {"elapsed_s", report.elapsed_s},
                     {"combinations", problem.space.combinations()},
                     {"legal", report.legal},
                     {"tried", report.results.size()},
                     {"known", report.known},
                     {"whole_space", report.whole_space},
                     {"operations", problem.operations},
                     {"unit", problem.unit}});
  object["best"] = report.best() == nullptr ? Json() : result_object(*report.best());
  object["default"] = report.default_result ? result_object(*report.default_result) : Json();
  object["gain_over_default"] = gain_over_default(problem);
  object["distribution"] = distribution_object(distribution(problem), problem);
  object["finalists"] = results_array(report.finalists);
  object["results"] = results_array(report.results);
  return object;
}

}  // namespace

Distribution distribution(const TunedProblem& problem) {
  Distribution d;
  const std::vector<double> rates = measured_rates(problem);
  d.count = rates.size();
  if (rates.empty()) return d;
  const auto [least, most] = std::minmax_element(rates.begin(), rates.end());
  d.least = *least;
  d.most = *most;
  for (const double rate : rates) d.mean += rate / static_cast<double>(d.count);
  double squares = 0;
  for (const double rate : rates) squares += (rate - d.mean) * (rate - d.mean);
  d.deviation = d.count > 1 ? std::sqrt(squares / static_cast<double>(d.count - 1)) : 0;
  const double best_s = best_seconds(problem);
  if (d.deviation > 0 && best_s > 0)
    d.optimum_sigmas = (problem.rate(best_s) - d.mean) / d.deviation;
  d.bin_width = d.most / static_cast<double>(kBins);
  d.bins.assign(kBins, 0);
  for (const double rate : rates)
    ++d.bins[std::min(kBins - 1, static_cast<std::size_t>(rate / d.bin_width))];
  return d;
}

double seconds_of(const TunedProblem& problem, const Configuration& configuration) {
  const auto times = measured_seconds(problem);
  const auto found = times.find(configuration);
  return found == times.end() ? 0 : found->second;
}

std::optional<FixedChoice> best_fixed(std::span<const TunedProblem> problems) {
  std::vector<const TunedProblem*> pointers;
  for (const TunedProblem& problem : problems) pointers.push_back(&problem);
  return best_fixed(pointers);
}

std::optional<FixedChoice> best_fixed(const std::vector<const TunedProblem*>& problems) {
  if (problems.empty()) return {};
  std::vector<std::map<Configuration, double>> times;
  for (const TunedProblem* problem : problems) times.push_back(measured_seconds(*problem));
  std::optional<FixedChoice> best;
  double best_logarithm = 0;
  for (const auto& [configuration, unused] : times[0]) {
    FixedChoice choice{configuration, {}};
    double logarithm = 0;
    for (std::size_t p = 0; p < problems.size(); ++p) {
      const auto found = times[p].find(configuration);
      const double own = best_seconds(*problems[p]);
      if (found == times[p].end() || own == 0) break;
      choice.fractions.push_back(own / found->second);
      logarithm += std::log(own / found->second);
    }
    if (choice.fractions.size() != problems.size() || (best && logarithm <= best_logarithm))
      continue;
    best_logarithm = logarithm;
    best = std::move(choice);
  }
  return best;
}

double gain_over_default(const TunedProblem& problem) {
  const auto& default_result = problem.report.default_result;
  if (!default_result || default_result->outcome != Outcome::measured || best_seconds(problem) == 0)
    return 0;
  return default_result->seconds / best_seconds(problem);
}

std::string report_json(std::span<const TunedProblem> problems) {
  Json object{{"schema", "tautline.tuning"}, {"version", 1}};
  object["problems"] = Json::array();
  for (const TunedProblem& problem : problems)
    object["problems"].push_back(problem_object(problem));
  object["best_fixed"] = nullptr;
  if (const auto fixed = best_fixed(problems)) {
    Json gains = Json::array();
    for (const double fraction : fixed->fractions) gains.push_back(1 / fraction);
    object["best_fixed"] = {{"configuration", fixed->configuration},
                            {"fraction_of_best", fixed->fractions},
                            {"gain_of_tuning", gains}};
  }
  object["sweeps"] = sweeps_json(sweeps_of(problems));
  return one_line(object);
}

}  // namespace tautline::jit

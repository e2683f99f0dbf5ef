#include "tautline/pipeline/simulation/compare_candidates.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "tautline/core/counted.h"
#include "tautline/core/dispersion.h"
#include "tautline/core/error.h"
#include "tautline/formats/candidates/candidates.h"
#include "tautline/pipeline/simulation/truth_file.h"

namespace tautline::pipeline {

namespace {

using core::Candidate;

constexpr const char* kFilterbankSchema = "tautline.simulation.filterbank";
constexpr double kSlackSamples = 3;
// Boxcars, trials and baselines cost less: pulses of half of their S/N were lost in part.
constexpr double kLeastSnrRatio = 0.5;
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

struct TruePulse {
  ComparedPulse pulse;
  bool whole = true;
};

struct FilterbankTruth {
  std::string file;  // the simulated one; empty: not known
  double tsamp_s = 0, sweep_s_per_dm = 0;
  std::vector<TruePulse> pulses;
};

FilterbankTruth truth_of_filterbank(const nlohmann::json& json) {
  if (!json.is_object() || json.value("schema", "") != kFilterbankSchema)
    throw std::runtime_error("schema is not tautline.simulation.filterbank");
  FilterbankTruth truth;
  truth.file = json.value("file", "");
  truth.tsamp_s = json.at("tsamp_s");
  const double first = json.at("fch1_mhz");
  const double last =
      first + json.at("foff_mhz").get<double>() * (json.at("nchans").get<double>() - 1);
  truth.sweep_s_per_dm = core::dispersion_delay_s(1, std::min(first, last), std::max(first, last),
                                                  json.at("dm_constant").get<double>());
  for (const nlohmann::json& one : json.at("pulses"))
    truth.pulses.push_back(
        {{one.at("dm"), one.at("time_s"), one.at("width_s"), one.at("snr"), {}}, one.at("whole")});
  std::stable_sort(
      truth.pulses.begin(), truth.pulses.end(),
      [](const TruePulse& a, const TruePulse& b) { return a.pulse.snr > b.pulse.snr; });
  return truth;
}

FilterbankTruth read_filterbank_truth(const std::string& path) {
  simulation::require_truth_file(path, kFilterbankSchema);
  std::ifstream file(path, std::ios::binary);
  if (!file)
    throw core::Error(core::ErrorKind::io, path + ": cannot be opened", std::strerror(errno), "",
                      "give the .truth.json that simulate filterbank wrote");
  try {
    return truth_of_filterbank(nlohmann::json::parse(file));
  } catch (const std::exception& problem) {
    throw core::Error(core::ErrorKind::format, path, problem.what(),
                      "the truth of a simulated filterbank",
                      "give the candidates first and then the .truth.json of simulate filterbank");
  }
}

bool is_of(const Candidate& candidate, const ComparedPulse& pulse, const FilterbankTruth& truth) {
  const double width_s = static_cast<double>(candidate.width_samples) * truth.tsamp_s;
  const double slack_s = kSlackSamples * truth.tsamp_s;
  const double reach_s = std::max(width_s, pulse.width_s) + slack_s;
  if (std::fabs(candidate.dm - pulse.dm) * truth.sweep_s_per_dm > reach_s) return false;
  return std::fabs(candidate.time_s - pulse.time_s) <= reach_s + (width_s + pulse.width_s) / 2;
}

// The nearest in time of the pulses that may have given the candidate.
TruePulse* pulse_of(const Candidate& candidate, FilterbankTruth& truth) {
  TruePulse* nearest = nullptr;
  const auto distance = [&](const TruePulse& one) {
    return std::fabs(one.pulse.time_s - candidate.time_s);
  };
  for (TruePulse& one : truth.pulses)
    if (is_of(candidate, one.pulse, truth) &&
        (nearest == nullptr || distance(one) < distance(*nearest)))
      nearest = &one;
  return nearest;
}

double median_of(std::vector<double> values) {
  if (values.empty()) return kNone;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return values.size() % 2 == 1 ? *middle
                                : (*middle + *std::max_element(values.begin(), middle)) / 2;
}

void add_ratios(CandidateComparison& comparison) {
  std::vector<double> ratios;
  for (const ComparedPulse& pulse : comparison.pulses)
    if (pulse.found && pulse.snr > 0) ratios.push_back(pulse.found->snr / pulse.snr);
  const auto count = static_cast<double>(ratios.size());
  comparison.median_snr_ratio = median_of(ratios);
  double sum = 0, squares = 0;
  for (const double ratio : ratios) sum += ratio;
  comparison.mean_snr_ratio = ratios.empty() ? kNone : sum / count;
  for (const double ratio : ratios)
    squares += (ratio - comparison.mean_snr_ratio) * (ratio - comparison.mean_snr_ratio);
  comparison.snr_ratio_scatter = ratios.size() < 2 ? kNone : std::sqrt(squares / (count - 1));
}

// Where none was found: whether the list is that of another file.
std::string other_file_text(const CandidateComparison& comparison, const FilterbankTruth& truth,
                            const std::string& candidates_path) {
  if (comparison.found > 0 || comparison.candidates == 0) return "";
  const auto name_of = [](const std::string& path) {
    return std::filesystem::path(path).filename().string();
  };
  const std::string searched = name_of(formats::candidates::searched_file(candidates_path)),
                    simulated = name_of(truth.file);
  if (searched.empty() || simulated.empty() || searched == simulated) return "";
  return fmt::format("; the candidates are of {}, the truth of {}", searched, simulated);
}

void judge(CandidateComparison& comparison, std::size_t true_pulses, double least_recall) {
  const std::size_t whole = comparison.pulses.size();
  const bool faint = comparison.median_snr_ratio < kLeastSnrRatio;
  comparison.agrees = true_pulses == 0 || (comparison.recall >= least_recall && !faint);
  if (true_pulses == 0)
    comparison.verdict = "agrees: the truth has no pulse, so none was missed";
  else if (whole == 0)
    comparison.verdict = "does not agree: no pulse is whole in the data, so nothing can be found";
  else
    comparison.verdict =
        fmt::format("{}: {} of {} found, recall {:.4g}, expected {:.4g} or more",
                    comparison.agrees ? "agrees" : "does not agree", comparison.found,
                    core::counted(whole, "pulse"), comparison.recall, least_recall);
  if (true_pulses > 0 && faint)
    comparison.verdict +=
        fmt::format("; their S/N is {:.2g} of the truth's (median), expected {:.2g} or more",
                    comparison.median_snr_ratio, kLeastSnrRatio);
}

}  // namespace

CandidateComparison compare_candidates(const std::string& candidates_path,
                                       const std::string& truth_path, double least_recall) {
  std::vector<Candidate> candidates = formats::candidates::read(candidates_path);
  FilterbankTruth truth = read_filterbank_truth(truth_path);
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.snr > b.snr; });
  CandidateComparison comparison;
  comparison.candidates = candidates.size();
  for (const Candidate& candidate : candidates) {
    TruePulse* of = pulse_of(candidate, truth);
    if (of == nullptr)  // the truth may be that of the injected pulses
      ++(candidate.injected ? comparison.injected : comparison.false_alarms);
    else if (!of->whole)
      ++comparison.cut;
    else if (of->pulse.found)
      ++comparison.duplicates;
    else
      of->pulse.found = candidate;
  }
  for (const TruePulse& one : truth.pulses) {
    if (!one.whole) continue;
    comparison.found += one.pulse.found ? 1 : 0;
    comparison.pulses.push_back(one.pulse);
  }
  comparison.recall = comparison.pulses.empty() ? kNone
                                                : static_cast<double>(comparison.found) /
                                                      static_cast<double>(comparison.pulses.size());
  add_ratios(comparison);
  judge(comparison, truth.pulses.size(), least_recall);
  comparison.verdict += other_file_text(comparison, truth, candidates_path);
  return comparison;
}

}  // namespace tautline::pipeline

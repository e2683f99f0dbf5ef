#include "tautline/pipeline/simulation/truth_comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "tautline/core/units.h"

namespace tautline::pipeline {
namespace {

constexpr std::size_t kMostClosures = 512;

double wrapped_deg(double degrees) {
  return std::remainder(degrees, 360.0);
}

ComparedClosure closure(const std::array<int, 3>& antennas, char feed,
                        const ComparedVisibility* const (&sides)[3]) {
  ComparedClosure row{antennas, feed};
  double variance = 0;
  for (int k = 0; k < 3; ++k) {
    const double sign = k == 2 ? -1 : 1;
    row.measured_deg += sign * sides[k]->measured_phase_deg;
    row.true_deg += sign * sides[k]->true_phase_deg;
    variance += std::pow(sides[k]->phase_error_deg, 2);
  }
  row.measured_deg = wrapped_deg(row.measured_deg);
  row.true_deg = wrapped_deg(row.true_deg);
  row.error_deg = std::min(180.0, std::sqrt(variance));
  row.sigmas = wrapped_deg(row.measured_deg - row.true_deg) / row.error_deg;
  return row;
}

std::string verdict_of(const TruthComparison& found, const TruthTolerance& tolerance) {
  const std::size_t rows = found.visibilities.size() + found.closures.size();
  const std::string limit =
      fmt::format("{} standard errors plus {} % of the amplitude or {} deg", tolerance.sigmas,
                  100 * tolerance.amplitude_fraction, tolerance.phase_deg);
  const char* const what = "visibilities and closure phases are off by";
  if (!found.other_antennas.empty())
    return fmt::format("does not agree: {}. Correlate with the array.toml of the simulation",
                       found.other_antennas);
  if (found.outside > 0)
    return fmt::format("does not agree: {} of {} {} more than {}", found.outside, rows, what,
                       limit);
  if (found.strong == 0)
    return "too noisy to tell: no visibility is 10 times its noise; simulate for longer";
  if (found.beyond_noise == 0)
    return fmt::format("agrees: all {} {} at most {} standard errors", rows, what,
                       tolerance.sigmas);
  return fmt::format(
      "agrees: all {} {} at most {}, the accuracy of the simulation; {} of them by more than {} "
      "standard errors alone",
      rows, what, limit, found.beyond_noise, tolerance.sigmas);
}

}  // namespace

std::vector<ComparedClosure> closures_of(const std::vector<ComparedVisibility>& visibilities,
                                         const std::vector<int>& numbers) {
  std::map<std::pair<std::pair<int, int>, char>, const ComparedVisibility*> row_of;
  for (const ComparedVisibility& row : visibilities)
    row_of[{{row.ant_1, row.ant_2}, row.feed}] = &row;
  std::vector<ComparedClosure> closures;
  for (std::size_t step = 1; 2 * step < numbers.size(); step *= 2)
    for (std::size_t a = 0; a + 2 * step < numbers.size(); ++a)
      for (const char feed : {'x', 'y'}) {
        const std::array<int, 3> antennas{numbers[a], numbers[a + step], numbers[a + 2 * step]};
        const auto side = [&](int one, int other) {
          const auto row = row_of.find({{one, other}, feed});
          return row == row_of.end() ? nullptr : row->second;
        };
        const ComparedVisibility* sides[3] = {side(antennas[0], antennas[1]),
                                              side(antennas[1], antennas[2]),
                                              side(antennas[0], antennas[2])};
        if (!sides[0] || !sides[1] || !sides[2] || closures.size() >= kMostClosures) continue;
        closures.push_back(closure(antennas, feed, sides));
      }
  return closures;
}

void judge(TruthComparison& found, const TruthTolerance& tolerance) {
  double amplitude = 0, phase = 0, closure = 0, ratio = 0, weight = 0;
  const double noise = tolerance.sigmas;
  const auto beyond = [](double sigmas, double limit) { return !(std::abs(sigmas) <= limit); };
  for (const ComparedVisibility& row : found.visibilities) {
    amplitude += std::pow(row.amplitude_sigmas, 2);
    phase += std::pow(row.phase_sigmas, 2);
    const double error = row.amplitude_error / row.true_amplitude;
    ratio += (1 + row.amplitude_sigmas * error) / (error * error);
    weight += 1 / (error * error);
    if (error < 0.1) ++found.strong;
    found.outside +=
        beyond(row.amplitude_sigmas, noise + tolerance.amplitude_fraction / error) ||
        beyond(row.phase_sigmas, noise + tolerance.phase_deg * core::kRadPerDeg / error);
    found.beyond_noise += beyond(row.amplitude_sigmas, noise) || beyond(row.phase_sigmas, noise);
  }
  for (const ComparedClosure& row : found.closures) {
    closure += std::pow(row.sigmas, 2);
    found.outside += beyond(row.sigmas, noise + tolerance.phase_deg / row.error_deg);
    found.beyond_noise += beyond(row.sigmas, noise);
  }
  const auto rms = [](double sum, std::size_t count) {
    return count == 0 ? 0 : std::sqrt(sum / static_cast<double>(count));
  };
  found.amplitude_rms_sigmas = rms(amplitude, found.visibilities.size());
  found.phase_rms_sigmas = rms(phase, found.visibilities.size());
  found.closure_rms_sigmas = rms(closure, found.closures.size());
  found.mean_amplitude_ratio = ratio / weight;
  found.agrees = found.other_antennas.empty() && found.outside == 0 && found.strong > 0;
  found.verdict = verdict_of(found, tolerance);
  if (found.without_data > 0)
    found.verdict += fmt::format("; {} of {} products have no data", found.without_data,
                                 found.without_data + found.visibilities.size());
}

}  // namespace tautline::pipeline

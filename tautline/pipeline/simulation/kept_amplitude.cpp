#include "tautline/pipeline/simulation/kept_amplitude.h"

#include <cmath>
#include <numbers>

#include "tautline/core/requantise.h"
#include "tautline/pipeline/voltages/visibility_facts.h"

namespace tautline::pipeline::simulation {

double mean_of_turns(double turns) {
  const double x = std::numbers::pi * turns;
  return std::abs(x) < 1e-6 ? 1 : std::sin(x) / x;
}

double mean_of_rotated(double turns, double turns_before, std::size_t parts) {
  const auto count = static_cast<double>(parts);
  const double x = std::numbers::pi * turns, step = std::sin(x / count);
  // The mean over the pieces' middles; where these are whole turns apart, its limit.
  const double middles =
      std::abs(step) < 1e-9 ? std::cos(x) / std::cos(x / count) : std::sin(x) / (count * step);
  return mean_of_turns(turns_before / count) * middles;
}

KeptByRounding kept_by_rounding(const formats::VisibilityDescription& description) {
  const auto bits = description.extra.find(kRequantisedBits);
  if (bits == description.extra.end() || bits->second != "4") return {};
  return kept_by_recording(core::kRequantise4Rms, core::requantise_limit(4));
}

KeptByRounding kept_by_recording(double rms, int limit) {
  if (!(rms > 0) || limit <= 0) return {};
  return {core::requantised_correlation(rms, limit), core::requantised_power(rms, limit)};
}

}  // namespace tautline::pipeline::simulation

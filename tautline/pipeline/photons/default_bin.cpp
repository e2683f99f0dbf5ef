#include "tautline/pipeline/photons/default_bin.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tautline/core/error.h"

namespace tautline::pipeline {

namespace {

constexpr double kBinsInDiffusionTime = 10;

// 1, 2 or 5 times a power of ten, at most `value`.
double rounded_down(double value) {
  const double exponent = std::floor(std::log10(value) + 1e-12);
  double best = std::pow(10.0, exponent);
  for (const double factor : {2.0, 5.0}) {
    const double one = factor * std::pow(10.0, exponent);
    if (one <= value * (1 + 1e-12)) best = one;
  }
  return best;
}

}  // namespace

DefaultBin default_bin(const std::string& path, std::uint64_t photons, std::uint64_t clock_units,
                       double unit_s) {
  if (photons == 0)
    throw core::Error(core::ErrorKind::config, path + ": length of a bin", "unknown",
                      "seconds, above 0: without photons none can be chosen", "give `bin_s`");
  const double between_s = static_cast<double>(clock_units) * unit_s / static_cast<double>(photons);
  const bool by_clock = between_s <= kBinsInDiffusionTime * unit_s;
  if (by_clock)
    return {unit_s, fmt::format("one unit of the clock, {:.4g} s: photons come faster than ten of "
                                "them",
                                unit_s)};
  return {std::max(unit_s, rounded_down(between_s / kBinsInDiffusionTime)),
          fmt::format("a tenth, rounded down, of the {:.4g} s between two photons of the brightest "
                      "detector",
                      between_s)};
}

}  // namespace tautline::pipeline

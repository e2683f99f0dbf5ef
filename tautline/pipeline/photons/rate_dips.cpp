#include "tautline/pipeline/photons/rate_dips.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace tautline::pipeline {

namespace {

// Cells on either side whose median is the level: it holds where fewer than half of them dip.
constexpr std::size_t kDipReach = 8;
// In robust standard deviations of the cells about their levels.
constexpr double kDipBeyond = 7, kNormalPerMad = 1.4826;
constexpr std::size_t kMostPartOfDips = 20;  // of the cells

double middle_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Of the cells on either side, without the cell itself.
double level_at(std::span<const double> rates, std::size_t cell) {
  const std::size_t first = cell - std::min(cell, kDipReach);
  const std::size_t end = std::min(rates.size(), cell + kDipReach + 1);
  std::vector<double> beside;
  for (std::size_t k = first; k < end; ++k)
    if (k != cell) beside.push_back(rates[k]);
  return middle_of(std::move(beside));
}

}  // namespace

std::vector<StepRange> rate_dips(std::span<const double> rates) {
  if (rates.size() < 2 * kDipReach) return {};
  // Relative to the level, as fluctuations of light are.
  std::vector<double> differences, sizes;
  for (std::size_t k = 0; k < rates.size(); ++k) {
    const double level = level_at(rates, k);
    if (!(level > 0)) return {};
    differences.push_back(rates[k] / level - 1);
    sizes.push_back(std::fabs(differences.back()));
  }
  const double limit = kDipBeyond * kNormalPerMad * middle_of(std::move(sizes));
  std::vector<StepRange> dips;
  std::size_t cells = 0;
  for (std::size_t k = 0; k < rates.size(); ++k) {
    if (!(limit > 0) || differences[k] > -limit) continue;
    if (!dips.empty() && dips.back().end == k)
      ++dips.back().end;
    else
      dips.push_back({k, k + 1});
    ++cells;
  }
  if (cells * kMostPartOfDips >= rates.size()) return {};
  return dips;
}

}  // namespace tautline::pipeline

#include "tautline/pipeline/search/level_changes.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>

#include "tautline/pipeline/search/data_pieces.h"
#include "tautline/pipeline/search/level_blocks.h"

namespace tautline::pipeline {

namespace {

// A change from one block to the next that is looked at, in those that are usual.
constexpr double kUnusualChange = 8;
// Of the logarithm of standard deviations: a smaller one moves S/N by less than a tenth, which no gap is worth.
constexpr double kLeastOfNoise = 0.1;

// 2.1 times the lower quartile is the median of white noise: up to three quarters of the changes may be steps.
double usual(const std::vector<LevelChange>& changes, double LevelChange::*quantity) {
  std::vector<double> sizes;
  for (const LevelChange& change : changes) sizes.push_back(std::abs(change.*quantity));
  if (sizes.empty()) return 0;
  const auto quarter = sizes.begin() + static_cast<std::ptrdiff_t>((sizes.size() - 1) / 4);
  std::nth_element(sizes.begin(), quarter, sizes.end());
  return 2.1 * *quarter;
}

// The least change that is looked at.
LevelChange unusual_change(const std::vector<LevelChange>& changes, std::size_t spectra,
                           const std::vector<bool>& counts) {
  const LevelChange least = least_change(spectra, counts);
  return {kUnusualChange * std::max(least.mean, usual(changes, &LevelChange::mean)),
          std::max(kLeastOfNoise,
                   kUnusualChange * std::max(least.noise, usual(changes, &LevelChange::noise)))};
}

}  // namespace

std::vector<UnusualChange> unusual_changes(formats::FilterbankReader& reader,
                                           const SampleRange& range, std::size_t blocks,
                                           std::size_t spectra, const std::vector<bool>& counts) {
  const auto first = [&](std::size_t k) {
    return range.first + k * (range.count - spectra) / (blocks - 1);
  };
  std::vector<SampleRange> places;
  std::vector<LevelChange> changes;  // from the place before to each
  std::optional<BlockLevels> before;
  for (std::size_t k = 0; k < blocks; ++k) {
    const std::uint64_t next = k + 1 < blocks ? first(k + 1) : 0;
    const SampleRange place{first(k), std::max<std::uint64_t>(next, first(k) + spectra) - first(k)};
    const DataPieces data = first_data(reader, place, spectra, counts);
    if (2 * length_of(data) < spectra) continue;
    BlockLevels levels = levels_in(reader, data);
    if (before) changes.push_back(change_of(*before, levels, counts));
    before = std::move(levels);
    places.push_back(place);
  }
  const LevelChange least = unusual_change(changes, spectra, counts);
  std::vector<UnusualChange> unusual;
  for (std::size_t k = 0; k < changes.size(); ++k) {
    const double mean = changes[k].mean / least.mean, noise = changes[k].noise / least.noise;
    const double excess = std::max(std::abs(mean), std::abs(noise));
    if (excess < 1) continue;
    const bool of_mean = std::abs(mean) >= 1;
    unusual.push_back({.from = places[k],
                       .to = places[k + 1],
                       .quantity = of_mean ? Quantity::mean : Quantity::noise,
                       .excess = excess,
                       .up = (of_mean ? mean : noise) > 0});
  }
  return unusual;
}

}  // namespace tautline::pipeline

#include "tautline/pipeline/search/decide_step.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "tautline/core/step_fit.h"
#include "tautline/pipeline/search/data_pieces.h"
#include "tautline/pipeline/search/level_blocks.h"

namespace tautline::pipeline {

namespace {

using core::fit_step;
using core::StepFit;

using core::kStepBlocks;
using core::kStepSide;

using Series = std::array<double, kStepBlocks>;  // a value of each block

// Whether one quantity of the channels steps: together, which few standard deviations of a channel show, or half of
// them each for itself, in whatever direction.
bool quantity_steps(const std::vector<Series>& channels, std::span<const double> times) {
  std::vector<Series> scaled;
  std::vector<double> steps;
  for (const Series& values : channels) {
    const StepFit fit = fit_step(values, times);
    const auto changes = [](auto from, auto to) {
      return std::any_of(from, to, [&](double x) { return x != *from; });
    };
    const auto middle = values.begin() + kStepSide;
    if (!(fit.deviation > 0) || !changes(values.begin(), middle) || !changes(middle, values.end()))
      continue;
    scaled.push_back(values);
    for (double& x : scaled.back()) x = (x - values.front()) / fit.deviation;
    steps.push_back(std::abs(fit.standard_errors));
  }
  if (scaled.empty()) return false;
  Series together;
  std::vector<double> of_block(scaled.size());
  for (std::size_t k = 0; k < kStepBlocks; ++k) {
    for (std::size_t c = 0; c < scaled.size(); ++c) of_block[c] = scaled[c][k];
    together[k] = middle_mean(of_block);
  }
  const auto half = steps.begin() + static_cast<std::ptrdiff_t>((steps.size() - 1) / 2);
  std::nth_element(steps.begin(), half, steps.end());
  return std::abs(fit_step(together, times).standard_errors) > core::kStepStandardErrors ||
         *half > core::kStepStandardErrors;
}

// Spectra on either side of a join, without empty stretches.
struct Surroundings {
  DataPieces before, after;
  std::uint64_t join = 0;  // or the end of an empty stretch that has the join inside
  bool padded = false;
};

// Up to `reach` spectra on either side of the bounds' sample.
Surroundings look_within(formats::FilterbankReader& reader, const StepBounds& bounds,
                         std::uint64_t reach, const std::vector<bool>& counts) {
  const std::uint64_t join = bounds.sample;
  const std::uint64_t low = std::max(bounds.low, join - std::min(join, reach));
  const std::uint64_t high = std::min(bounds.high, join + reach);
  Surroundings found{.before = {}, .after = {}, .join = join, .padded = false};
  std::uint64_t done = low;
  for (const SampleRange& piece : data_pieces(reader, {low, high - low}, counts)) {
    const std::uint64_t first = piece.first, end = first + piece.count;
    if (first > done) found.padded = true;
    if (done < join && join < first) found.join = first;
    if (first < join) found.before.push_back({first, std::min(end, join) - first});
    if (end > join) found.after.push_back({std::max(first, join), end - std::max(first, join)});
    done = end;
  }
  if (done < high) found.padded = true;
  return found;
}

// Most joins have no empty stretch near them; beyond one there may be data to compare.
Surroundings look_around(formats::FilterbankReader& reader, const StepBounds& bounds,
                         std::size_t spectra, const std::vector<bool>& counts) {
  const std::uint64_t near = kStepSide * spectra;
  const Surroundings found = look_within(reader, bounds, near, counts);
  if (!found.padded) return found;
  return look_within(reader, bounds, std::max(near, most_searched(reader.description())), counts);
}

// A step at the middle of the blocks around; its sample is where they join.
std::optional<DecidedStep> step_in(formats::FilterbankReader& reader, const Surroundings& around,
                                   std::size_t spectra, const std::vector<bool>& counts) {
  std::vector<Series> means(counts.size()), deviations(counts.size());
  std::vector<bool> known = counts;
  Series times{};
  const std::uint64_t skipped = length_of(around.before) - kStepSide * spectra;
  for (std::size_t k = 0; k < kStepBlocks; ++k) {
    const bool before = k < kStepSide;
    const BlockLevels levels =
        before ? read_levels(reader, around.before, skipped + k * spectra, spectra, times[k])
               : read_levels(reader, around.after, (k - kStepSide) * spectra, spectra, times[k]);
    for (std::size_t c = 0; c < counts.size(); ++c) {
      means[c][k] = levels.mean[c];
      deviations[c][k] = levels.deviation[c];
      if (levels.count[c] < kLeastStepSpectra / 2) known[c] = false;
    }
  }
  const auto keep_known = [&](std::vector<Series>& channels) {
    std::size_t kept = 0;
    for (std::size_t c = 0; c < known.size(); ++c)
      if (known[c]) channels[kept++] = channels[c];
    channels.resize(kept);
  };
  keep_known(means);
  keep_known(deviations);
  const std::span<const double> spacing = around.padded ? times : std::span<const double>{};
  const bool of_mean = quantity_steps(means, spacing);
  if (!of_mean && !quantity_steps(deviations, spacing)) return std::nullopt;
  return DecidedStep{around.join, of_mean};
}

std::size_t spectra_of_blocks(std::uint64_t before, std::uint64_t after) {
  return static_cast<std::size_t>(
      std::min<std::uint64_t>(kMostStepSpectra, std::min(before, after) / kStepSide));
}

}  // namespace

std::optional<DecidedStep> decide_step(formats::FilterbankReader& reader, const StepBounds& bounds,
                                       std::size_t least, const std::vector<bool>& counts) {
  const std::size_t most =
      spectra_of_blocks(bounds.sample - bounds.low, bounds.high - bounds.sample);
  if (most < least) return std::nullopt;
  const Surroundings around = look_around(reader, bounds, most, counts);
  const std::size_t spectra = spectra_of_blocks(length_of(around.before), length_of(around.after));
  if (spectra < least) return std::nullopt;
  return step_in(reader, around, spectra, counts);
}

}  // namespace tautline::pipeline

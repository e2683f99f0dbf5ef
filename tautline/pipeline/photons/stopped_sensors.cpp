#include "tautline/pipeline/photons/stopped_sensors.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <optional>

#include "tautline/core/threads.h"
#include "tautline/pipeline/photons/single_stops.h"

namespace tautline::pipeline {

namespace {

// The remaining steps of a trace, in order, and runs of adjoining ones among some of them.
std::vector<StepRange> neighbours(std::span<const std::size_t> left, const StepRange& some) {
  std::vector<StepRange> ranges;
  for (std::size_t k = some.first; k < some.end; ++k) {
    if (!ranges.empty() && ranges.back().end == left[k])
      ++ranges.back().end;
    else
      ranges.push_back({left[k], left[k] + 1});
  }
  return ranges;
}

}  // namespace

std::vector<SensorStretch> stopped_sensors(std::span<const double> counts,
                                           std::uint64_t step_samples, double step_s,
                                           std::span<const std::uint8_t> good,
                                           std::span<const BinRange> left_out) {
  const std::size_t steps = counts.size() / good.size();
  std::vector<SensorStretch> found;
  const auto add = [&](std::vector<SensorStretch>& to, std::optional<std::uint32_t> sensor,
                       const StepRange& range) {
    to.push_back({sensor, range.first * step_samples, range.steps() * step_samples});
  };
  std::vector<std::size_t> left(steps);
  std::iota(left.begin(), left.end(), std::size_t{0});
  for (const BinRange& bins : left_out)
    std::erase_if(left, [&](std::size_t k) {
      return k * step_samples < bins.end && (k + 1) * step_samples > bins.first;
    });
  const auto sensors = static_cast<std::size_t>(
      std::count_if(good.begin(), good.end(), [](std::uint8_t one) { return one != 0; }));
  if (sensors > 1) {
    std::vector<double> sums(left.size());
    for (std::size_t k = 0; k < left.size(); ++k)
      for (std::size_t s = 0; s < good.size(); ++s)
        if (good[s] != 0) sums[k] += counts[left[k] * good.size() + s];
    const std::vector<std::size_t> looked_at = left;
    for (const StepRange& range : stopped_steps(sums, 1))
      for (const StepRange& part : neighbours(looked_at, range)) {
        add(found, std::nullopt, part);
        std::erase_if(left, [&](std::size_t k) { return k >= part.first && k < part.end; });
      }
  }
  constexpr std::size_t kPieces = 64;
  const std::size_t pieces = std::clamp<std::size_t>(good.size(), 1, kPieces);
  std::vector<std::vector<SensorStretch>> of_pieces(pieces);
  core::in_pieces(good.size(), pieces, [&](std::size_t piece, std::size_t first, std::size_t last) {
    std::vector<double> series(left.size());
    for (std::size_t s = first; s < last; ++s) {
      if (good[s] == 0) continue;
      for (std::size_t k = 0; k < left.size(); ++k) series[k] = counts[left[k] * good.size() + s];
      auto ranges = stopped_steps(series, sensors);
      const auto constant = constant_steps(series, step_samples);
      ranges.insert(ranges.end(), constant.begin(), constant.end());
      if (ranges.empty() && sensors > 1) ranges = single_stops(series, step_s);
      for (const StepRange& range : ranges)
        for (const StepRange& part : neighbours(left, range))
          add(of_pieces[piece], static_cast<std::uint32_t>(s), part);
    }
  });
  for (const auto& of_piece : of_pieces)
    found.insert(found.end(), of_piece.begin(), of_piece.end());
  return found;
}

}  // namespace tautline::pipeline

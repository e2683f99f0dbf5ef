#include "tautline/pipeline/search/steps_inside.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "tautline/pipeline/search/level_blocks.h"
#include "tautline/pipeline/search/place_step.h"

namespace tautline::pipeline {

namespace {

// Blocks of kMostStepSpectra that are compared, and the least distance between them; fewer do not tell a step from a
// drift. So many steps are none, but a level that is switched.
constexpr std::size_t kMostProbes = 32, kLeastProbes = 5, kMostInside = 16;
constexpr std::uint64_t kProbeDistance = 1024;

}  // namespace

std::vector<DecidedStep> steps_inside(formats::FilterbankReader& reader, const SampleRange& range,
                                      const std::vector<bool>& counts,
                                      const std::vector<std::size_t>& left_out) {
  const auto probes =
      static_cast<std::size_t>(std::min<std::uint64_t>(kMostProbes, range.count / kProbeDistance));
  if (probes < kLeastProbes) return {};
  const auto first = [&](std::size_t k) {
    return range.first + k * (range.count - kMostStepSpectra) / (probes - 1);
  };
  std::vector<LevelChange> changes;
  BlockLevels before = levels_at(reader, first(0), kMostStepSpectra);
  for (std::size_t k = 1; k < probes; ++k) {
    BlockLevels levels = levels_at(reader, first(k), kMostStepSpectra);
    changes.push_back(change_of(before, levels, counts));
    before = std::move(levels);
  }
  const LevelChange unusual = unusual_change(changes, kMostStepSpectra, counts);
  std::vector<DecidedStep> steps;
  for (std::size_t k = 0; k + 1 < probes; ++k) {
    const std::optional<Quantity> changing = changing_quantity(changes[k], unusual);
    if (!changing) continue;
    const std::uint64_t low = steps.empty() ? range.first : steps.back().sample;
    const std::uint64_t place =
        place_step(reader, first(k), first(k + 1), kMostStepSpectra, *changing, counts);
    if (place <= low) continue;
    const auto step = decide_step(reader, {low, place, range.first + range.count}, kMostStepSpectra,
                                  counts, left_out);
    if (step && step->sample > low) steps.push_back(*step);
  }
  return steps.size() > kMostInside ? std::vector<DecidedStep>() : steps;
}

}  // namespace tautline::pipeline

#include "tautline/pipeline/search/steps_inside.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "tautline/pipeline/search/dispersed_step.h"
#include "tautline/pipeline/search/level_blocks.h"
#include "tautline/pipeline/search/place_step.h"
#include "tautline/pipeline/search/rises.h"
#include "tautline/pipeline/search/short_steps.h"

namespace tautline::pipeline {

namespace {

// Blocks of kMostStepSpectra that are compared, and the least distance between them; fewer do not tell a step from a
// drift. So many steps are none, but a level that is switched.
constexpr std::size_t kMostBlocks = 32, kLeastBlocks = 5, kMostInside = 16;
constexpr std::uint64_t kBlockDistance = 1024;

// Steps with kMostStepSpectra in each block on either side, over the whole range, however long.
std::vector<DecidedStep> long_steps(formats::FilterbankReader& reader, const SampleRange& range,
                                    const std::vector<bool>& counts,
                                    const std::vector<std::size_t>& left_out) {
  const auto probes =
      static_cast<std::size_t>(std::min<std::uint64_t>(kMostBlocks, range.count / kBlockDistance));
  if (probes < kLeastBlocks) return {};
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
    const StepBounds bounds{low, place, range.first + range.count};
    const auto step = decide_step(reader, bounds, kMostStepSpectra, counts, left_out);
    if (step && step->sample > low && !step_is_dispersed(reader, bounds, counts))
      steps.push_back(*step);
  }
  return steps;
}

}  // namespace

StepsInside steps_inside(formats::FilterbankReader& reader, const SampleRange& range,
                         const std::vector<bool>& counts,
                         const std::vector<std::size_t>& left_out) {
  const std::vector<DecidedStep> long_ones = long_steps(reader, range, counts, left_out);
  std::vector<DecidedStep> steps = long_ones;
  std::uint64_t low = range.first;
  for (std::size_t k = 0; k <= long_ones.size(); ++k) {
    const std::uint64_t high =
        k < long_ones.size() ? long_ones[k].sample : range.first + range.count;
    const auto between = short_steps(reader, {low, high - low}, counts, left_out);
    steps.insert(steps.end(), between.begin(), between.end());
    low = high;
  }
  std::ranges::sort(steps, {}, &DecidedStep::sample);
  if (steps.size() <= kMostInside) return leave_rises(reader, range, steps, counts);
  const std::uint64_t first = steps.front().sample;
  return {{}, {{first, steps.back().sample - first, steps.size()}}};
}

}  // namespace tautline::pipeline

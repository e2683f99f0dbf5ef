#include "tautline/pipeline/search/steps_inside.h"

#include <algorithm>

#include "tautline/pipeline/search/decide_step.h"
#include "tautline/pipeline/search/dispersed_step.h"
#include "tautline/pipeline/search/level_changes.h"
#include "tautline/pipeline/search/place_step.h"
#include "tautline/pipeline/search/rises.h"
#include "tautline/pipeline/search/short_steps.h"

namespace tautline::pipeline {

namespace {

// Blocks of kMostStepSpectra that are compared, and the least distance between them; fewer do not tell a step from a
// drift.
constexpr std::size_t kMostBlocks = 32, kLeastBlocks = 5;
constexpr std::uint64_t kBlockDistance = 1024;
// More steps come from a level that is switched to and fro: cuts at all of them would leave nothing to search.
constexpr std::size_t kMostInside = 16;

// Steps with kMostStepSpectra in each block on either side, over the whole range, however long.
std::vector<DecidedStep> long_steps(formats::FilterbankReader& reader, const SampleRange& range,
                                    const std::vector<bool>& counts) {
  const auto blocks =
      static_cast<std::size_t>(std::min<std::uint64_t>(kMostBlocks, range.count / kBlockDistance));
  if (blocks < kLeastBlocks) return {};
  std::vector<DecidedStep> steps;
  for (const UnusualChange& change :
       unusual_changes(reader, range, blocks, kMostStepSpectra, counts)) {
    const std::uint64_t low = steps.empty() ? range.first : steps.back().sample;
    const std::uint64_t place =
        place_step(reader, change.from, change.to, kMostStepSpectra, change.quantity, counts);
    if (place <= low) continue;
    const StepBounds bounds{low, place, range.first + range.count};
    const auto step = decide_step(reader, bounds, kMostStepSpectra, counts);
    if (step && step->sample > low && !step_is_dispersed(reader, bounds, counts))
      steps.push_back(*step);
  }
  return steps;
}

}  // namespace

StepsInside steps_inside(formats::FilterbankReader& reader, const SampleRange& range,
                         const std::vector<bool>& counts) {
  const std::vector<DecidedStep> long_ones = long_steps(reader, range, counts);
  std::vector<DecidedStep> steps = long_ones;
  std::uint64_t low = range.first;
  for (std::size_t k = 0; k <= long_ones.size(); ++k) {
    const std::uint64_t high =
        k < long_ones.size() ? long_ones[k].sample : range.first + range.count;
    const auto between = short_steps(reader, {low, high - low}, counts);
    steps.insert(steps.end(), between.begin(), between.end());
    low = high;
  }
  std::ranges::sort(steps, {}, &DecidedStep::sample);
  if (steps.size() <= kMostInside) return leave_rises(reader, range, steps, counts);
  const std::uint64_t first = steps.front().sample;
  return {{}, {{first, steps.back().sample - first, steps.size()}}};
}

}  // namespace tautline::pipeline

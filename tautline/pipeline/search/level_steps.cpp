#include "tautline/pipeline/search/level_steps.h"

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "tautline/pipeline/search/decide_step.h"
#include "tautline/pipeline/search/steps_inside.h"

namespace tautline::pipeline {

namespace {

// The file that has a sample, where files join.
std::string file_of(const std::vector<formats::FileJoin>& joins, std::uint64_t sample) {
  if (joins.empty()) return {};
  std::string file = joins.front().before;
  for (const formats::FileJoin& join : joins)
    if (join.sample <= sample) file = join.after;
  return file;
}

}  // namespace

FoundSteps find_level_steps(formats::FilterbankReader& reader,
                            const std::vector<PlacedRange>& segments,
                            const std::vector<std::size_t>& left_out) {
  std::vector<bool> counts(reader.description().channels, true);
  for (const std::size_t c : left_out) counts[c] = false;
  const auto& joins = reader.joins();
  FoundSteps found;
  std::vector<LevelStep>& steps = found.steps;
  for (const auto& [range, grid_first] : segments)
    for (std::size_t k = 0; k < joins.size(); ++k) {
      const std::uint64_t join = joins[k].sample;
      if (join <= range.first || join >= range.first + range.count) continue;
      const std::uint64_t low = std::max(range.first, k > 0 ? joins[k - 1].sample : 0);
      const std::uint64_t high = std::min(range.first + range.count,
                                          k + 1 < joins.size() ? joins[k + 1].sample : UINT64_MAX);
      if (const auto step = decide_step(reader, {low, join, high}, kLeastStepSpectra, counts))
        steps.push_back({grid_first + (step->sample - range.first), joins[k].before, joins[k].after,
                         step->of_mean});
    }
  std::vector<PlacedRange> parts = segments;
  split_at_steps(steps, parts);
  for (const auto& [range, grid_first] : parts) {
    const StepsInside inside = steps_inside(reader, range, counts);
    for (const DecidedStep& step : inside.steps) {
      const std::string file = file_of(joins, step.sample);
      steps.push_back({grid_first + (step.sample - range.first), file, file, step.of_mean});
    }
    for (const UncutLevel& uncut : inside.uncut)
      found.uncut.push_back(
          {grid_first + (uncut.sample - range.first), uncut.samples, uncut.steps});
  }
  std::ranges::sort(steps, {}, &LevelStep::sample);
  return found;
}

void split_at_steps(const std::vector<LevelStep>& steps, std::vector<PlacedRange>& segments) {
  std::vector<PlacedRange> parts;
  for (PlacedRange left : segments) {
    for (const LevelStep& step : steps) {
      if (step.sample <= left.grid_first || step.sample >= left.grid_first + left.range.count)
        continue;
      const std::uint64_t count = step.sample - left.grid_first;
      parts.push_back({{left.range.first, count}, left.grid_first});
      left = {{left.range.first + count, left.range.count - count}, step.sample};
    }
    parts.push_back(left);
  }
  segments = std::move(parts);
}

nlohmann::ordered_json level_steps(const std::vector<LevelStep>& steps) {
  auto list = nlohmann::ordered_json::array();
  for (const LevelStep& step : steps)
    list.push_back({{"sample", step.sample},
                    {"before", step.before},
                    {"after", step.after},
                    {"of", step.of_mean ? "level" : "noise"}});
  return list;
}

nlohmann::ordered_json uncut_levels(const std::vector<UncutLevel>& uncut) {
  auto list = nlohmann::ordered_json::array();
  for (const UncutLevel& level : uncut)
    list.push_back({{"sample", level.sample}, {"samples", level.samples}, {"steps", level.steps}});
  return list;
}

}  // namespace tautline::pipeline

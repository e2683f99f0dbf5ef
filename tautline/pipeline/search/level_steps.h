// Finds steps of level where files join and inside files (docs/design/empty.md).
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "tautline/formats/filterbank_reader.h"
#include "tautline/pipeline/search/level_step.h"
#include "tautline/pipeline/search/sample_range.h"

namespace tautline::pipeline {

struct FoundSteps {
  std::vector<LevelStep> steps;   ///< in order of time
  std::vector<UncutLevel> uncut;  ///< the same
};

/// The steps of level inside the data segments, in order of time. At joins of files: reads 4,096 spectra on
/// either side of each join, or as many as there are up to the next join or gap; of fewer than 256 nothing is
/// said. Empty stretches near a join are passed over; of one that has the join inside, the step is at its
/// end. Inside files: steps_inside's; the file's name is empty where there is no join. `left_out`: channels that do not count.
FoundSteps find_level_steps(formats::FilterbankReader& reader,
                            const std::vector<PlacedRange>& segments,
                            const std::vector<std::size_t>& left_out);

/// Cuts data segments at steps.
void split_at_steps(const std::vector<LevelStep>& steps, std::vector<PlacedRange>& segments);

/// {sample, before, after, of} of each; of: "level", or "noise" where the standard deviation alone steps.
nlohmann::ordered_json level_steps(const std::vector<LevelStep>& steps);
/// {sample, samples, steps} of each.
nlohmann::ordered_json uncut_levels(const std::vector<UncutLevel>& uncut);

}  // namespace tautline::pipeline

#include "tautline/pipeline/search/coincident_beams.h"

#include <algorithm>
#include <cmath>

namespace tautline::pipeline {

namespace {

// A boxcar on the grid of times that all beams share.
struct Boxcar {
  std::int64_t begin = 0, end = 0;
  core::Candidate* candidate = nullptr;
};

}  // namespace

void count_beams(std::span<core::Candidate> candidates, const Coincidence& coincidence) {
  const auto link = static_cast<std::int64_t>(coincidence.link_samples);
  std::vector<Boxcar> boxcars;
  std::int64_t widest = 0;
  for (core::Candidate& c : candidates) {
    const auto width = static_cast<std::int64_t>(c.width_samples);
    const std::int64_t begin =
        coincidence.beam_starts[c.beam] + static_cast<std::int64_t>(c.sample) - width / 2;
    boxcars.push_back({begin, begin + width, &c});
    widest = std::max(widest, width);
  }
  std::sort(boxcars.begin(), boxcars.end(),
            [](const Boxcar& a, const Boxcar& b) { return a.begin < b.begin; });
  const auto alike = [&](const core::Candidate& a, const core::Candidate& b) {
    const auto wider = static_cast<double>(std::max(a.width_samples, b.width_samples));
    return std::abs(a.dm - b.dm) * coincidence.delay_samples_per_dm <=
           wider + static_cast<double>(link);
  };
  // For each beam, the candidate that saw it last.
  std::vector<std::size_t> seen(coincidence.beam_starts.size(), boxcars.size());
  std::size_t first = 0;
  for (std::size_t k = 0; k < boxcars.size(); ++k) {
    const Boxcar& own = boxcars[k];
    while (boxcars[first].begin + widest + link < own.begin) ++first;
    own.candidate->beams = 0;
    for (std::size_t j = first; j < boxcars.size() && boxcars[j].begin <= own.end + link; ++j) {
      const Boxcar& other = boxcars[j];
      std::size_t& last = seen[other.candidate->beam];
      if (last == k || other.end + link < own.begin) continue;
      if (!alike(*own.candidate, *other.candidate)) continue;
      last = k;
      if (++own.candidate->beams == seen.size()) break;
    }
  }
}

std::size_t most_beams(std::size_t asked, std::size_t beams) {
  return asked > 0 ? asked : std::max<std::size_t>(2, beams / 4);
}

}  // namespace tautline::pipeline

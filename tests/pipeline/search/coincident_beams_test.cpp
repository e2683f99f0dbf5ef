// Candidates that several beams have at once, against all pairs.
#include "tautline/pipeline/search/coincident_beams.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "tests/support/seed.h"

namespace tautline::pipeline {
namespace {

using core::Candidate;

std::size_t beams_of(const Candidate& own, const std::vector<Candidate>& all,
                     const Coincidence& coincidence) {
  const auto begin = [&](const Candidate& c) {
    return coincidence.beam_starts[c.beam] + static_cast<std::int64_t>(c.sample) -
           static_cast<std::int64_t>(c.width_samples / 2);
  };
  const auto end = [&](const Candidate& c) {
    return begin(c) + static_cast<std::int64_t>(c.width_samples);
  };
  const auto link = static_cast<std::int64_t>(coincidence.link_samples);
  std::set<std::size_t> beams;
  for (const Candidate& other : all) {
    const auto wider = static_cast<double>(std::max(own.width_samples, other.width_samples));
    const bool apart = begin(other) > end(own) + link || begin(own) > end(other) + link;
    const double delay = std::abs(own.dm - other.dm) * coincidence.delay_samples_per_dm;
    if (!apart && delay <= wider + static_cast<double>(link)) beams.insert(other.beam);
  }
  return beams.size();
}

TEST(CoincidentBeams, AreThoseOfAllPairs) {
  auto random = tests::generator();
  for (const std::size_t count : {0, 1, 2, 3, 50, 400}) {
    for (const std::size_t beams : {1, 2, 5, 33}) {
      Coincidence coincidence;
      coincidence.delay_samples_per_dm = 0.5 + static_cast<double>(random() % 10);
      coincidence.link_samples = random() % 5;
      for (std::size_t b = 0; b < beams; ++b)
        coincidence.beam_starts.push_back(static_cast<std::int64_t>(random() % 200) - 100);
      std::vector<Candidate> candidates(count);
      for (Candidate& c : candidates) {
        c.beam = random() % beams;
        c.sample = 100 + random() % 3000;
        c.width_samples = 1 + random() % (random() % 4 == 0 ? 90 : 5);
        c.dm = static_cast<double>(random() % 40) / 4;
        c.beams = 77;
      }
      count_beams(candidates, coincidence);
      for (const Candidate& c : candidates)
        EXPECT_EQ(c.beams, beams_of(c, candidates, coincidence)) << count << " in " << beams;
    }
  }
}

TEST(CoincidentBeams, AQuarterOfTheBeamsMayHaveOneUnlessToldOtherwise) {
  EXPECT_EQ(most_beams(0, 1), 2u);
  EXPECT_EQ(most_beams(0, 8), 2u);
  EXPECT_EQ(most_beams(0, 11), 2u);
  EXPECT_EQ(most_beams(0, 20), 5u);
  EXPECT_EQ(most_beams(3, 20), 3u);
}

}  // namespace
}  // namespace tautline::pipeline

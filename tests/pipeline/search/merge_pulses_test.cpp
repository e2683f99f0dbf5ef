// Pulses that two neighbouring searches found both become one.
#include "tautline/pipeline/search/merge_pulses.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "tests/support/seed.h"

namespace tautline::pipeline {
namespace {

using stages::detect::Pulse;

Pulse pulse(double snr, std::size_t trial, std::uint64_t first, std::uint64_t width) {
  Pulse p;
  p.snr = snr;
  p.trial = p.first_trial = p.last_trial = trial;
  p.first = p.begin = first;
  p.width = width;
  p.end = first + width;
  p.members = 2;
  return p;
}

TEST(MergePulses, PlacesAreThoseOfTheInput) {
  const PlacedPulse placed = place_pulse(pulse(8, 3, 100, 5), 1, 40, 4);
  EXPECT_EQ(placed.pulse.trial, 43u);
  EXPECT_EQ(placed.pulse.first, 400u);
  EXPECT_EQ(placed.pulse.width, 20u);
  EXPECT_EQ(placed.pulse.end, 420u);
  EXPECT_EQ(placed.pulse.sample(), 410u);
}

TEST(MergePulses, JoinsAcrossPartsAndNotWithinOne) {
  const std::vector<PlacedPulse> pulses{
      place_pulse(pulse(9, 9, 1000, 10), 0, 0, 1),   // at the end of part 0
      place_pulse(pulse(12, 0, 501, 6), 1, 10, 2),   // the same in part 1, twice as coarse
      place_pulse(pulse(7, 2, 1000, 10), 0, 0, 1),   // one of part 0 that was left apart there
      place_pulse(pulse(7, 0, 5000, 10), 1, 10, 2),  // another time
      place_pulse(pulse(7, 60, 501, 6), 1, 10, 2),   // another DM
  };
  const auto merged = merge_pulses(pulses, {});
  ASSERT_EQ(merged.size(), 3u);
  EXPECT_EQ(merged[0].snr, 12);
  EXPECT_EQ(merged[0].trial, 10u);
  EXPECT_EQ(merged[0].first, 1002u);
  // The one left apart is a friend of the brightest too (8 trials), so all three are one.
  EXPECT_EQ(merged[0].members, 6u);
  EXPECT_EQ(merged[0].begin, 1000u);
  EXPECT_EQ(merged[0].first_trial, 2u);
  EXPECT_EQ(merged[1].snr, 7);
  EXPECT_TRUE(merge_pulses({}, {}).empty());
}

TEST(MergePulses, WidthsThatDifferTooMuchStayApart) {
  stages::detect::Links links;
  links.width_octaves = 1;
  const auto merged = merge_pulses(
      {place_pulse(pulse(9, 0, 1000, 4), 0, 0, 1), place_pulse(pulse(8, 0, 1000, 9), 1, 1, 1)},
      links);
  EXPECT_EQ(merged.size(), 2u);
}

// Each pulse's number of members is a bit of its own, so that those of a group tell its pulses.
TEST(MergePulses, GroupsAreThoseOfEveryPair) {
  std::mt19937_64 random = tests::generator();
  const auto below = [&](std::size_t n) { return random() % n; };
  for (int n = 0; n < 500; ++n) {
    const stages::detect::Links links{below(20), below(10), below(4)};
    std::vector<PlacedPulse> pulses;
    for (std::size_t i = below(40); i > 0; --i) {
      const std::size_t part = below(3);
      Pulse p = pulse(6 + static_cast<double>(below(20)), below(30), below(1000), 1 + below(60));
      p.begin -= std::min<std::uint64_t>(p.begin, below(50));
      p.end += below(n % 2 == 0 ? 30 : 400);
      p.members = std::uint64_t{1} << i;
      pulses.push_back(place_pulse(p, part, 10 * part, std::size_t{1} << part));
    }
    std::vector<std::uint64_t> groups;  // as bits
    for (const PlacedPulse& p : pulses) {
      std::uint64_t joined = p.pulse.members;
      for (const PlacedPulse& q : pulses)
        if (&q < &p && merge_pulses({p, q}, links).size() == 1)
          for (const std::uint64_t group : groups)
            if (group & q.pulse.members) joined |= group;
      std::erase_if(groups, [&](std::uint64_t group) { return (group & joined) != 0; });
      groups.push_back(joined);
    }
    std::vector<std::uint64_t> found;
    for (const Pulse& p : merge_pulses(pulses, links)) found.push_back(p.members);
    std::sort(groups.begin(), groups.end());
    std::sort(found.begin(), found.end());
    ASSERT_EQ(found, groups) << n;
  }
}

}  // namespace
}  // namespace tautline::pipeline

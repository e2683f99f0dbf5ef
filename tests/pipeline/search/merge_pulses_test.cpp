// Pulses that two neighbouring searches found both become one.
#include "tautline/pipeline/search/merge_pulses.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace tautline::pipeline

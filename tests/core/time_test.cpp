#include "tautline/core/time.h"

#include <gtest/gtest.h>

#include "tautline/core/error.h"

namespace tautline::core {
namespace {

TEST(Time, ParsesDecimalsExactly) {
  EXPECT_EQ(parse_decimal("16.368", 6), (Rational{16368000, 1}));
  EXPECT_EQ(parse_decimal("1.28e6"), (Rational{1280000, 1}));
  EXPECT_EQ(parse_decimal("0.1"), (Rational{1, 10}));
  EXPECT_THROW(parse_decimal("-1"), Error);
  EXPECT_THROW(parse_decimal("0"), Error);
  EXPECT_THROW(parse_decimal("1x"), Error);
  EXPECT_THROW(parse_decimal("1e999"), Error);
  EXPECT_THROW(parse_decimal(""), Error);
}

TEST(Time, KnowsTheCalendar) {
  EXPECT_EQ(parse_utc("1970-01-01-00:00:00").seconds, 0);
  EXPECT_EQ(parse_utc("2013-10-20-01:59:03").seconds, 1382234343);
  EXPECT_EQ(parse_utc("2000-02-29-12:00:00").seconds, 951825600);
  EXPECT_EQ(to_dada(parse_utc("2000-02-29-12:00:00")), "2000-02-29-12:00:00");
  EXPECT_THROW(parse_utc("2013-02-29-00:00:00"), Error);
  EXPECT_THROW(parse_utc("2013-10-20"), Error);
}

TEST(Time, JulianDatesOfKnownInstants) {
  EXPECT_EQ(julian_date(parse_utc("2000-01-01-12:00:00")), 2451545.0);
  EXPECT_EQ(modified_julian_date(parse_utc("2000-01-01-12:00:00")), 51544.5);
  EXPECT_EQ(mjd_seconds(parse_utc("1858-11-18-00:00:01")), 86401.0);
}

// One hour and one sample into a stream at 16.368 MHz, by exact fractions.
TEST(Time, IsExactAnHourIntoAStream) {
  const Instant start = parse_utc("2013-10-20-01:59:03", 123'456'789'012);
  const Rational rate = parse_decimal("16.368", 6);
  const std::int64_t samples = 3600ll * 16'368'000 + 1;
  const Instant t = advance(start, samples, rate);
  EXPECT_EQ(t.seconds, start.seconds + 3600);
  // 123456789012e-12 + 1/16368000 s over the common denominator 1.023e15 x 4 / ...:
  // cross-multiplied.
  __extension__ using Wide = __int128;
  const Wide expected_numerator = Wide{123'456'789'012} * 16'368'000 + Wide{1'000'000'000'000};
  const Wide expected_denominator = Wide{1'000'000'000'000} * 16'368'000;
  EXPECT_TRUE(Wide{t.fraction_numerator} * expected_denominator ==
              expected_numerator * t.fraction_denominator);
  EXPECT_EQ(samples_between(start, t, rate), samples);
  EXPECT_TRUE(before(start, t));
  EXPECT_EQ(advance(t, -samples, rate), start);
}

TEST(Time, HalvesOddSpans) {
  const Instant start = parse_utc("2013-10-20-01:59:03");
  EXPECT_EQ(advance_half(start, 3, {1, 1}), (Instant{start.seconds + 1, 1, 2}));
}

TEST(Time, RatesThatShareNothingWithTheEpochRoundToAttoseconds) {
  // A prime rate from an epoch of whole picoseconds: the common denominator would need 64 bits.
  const Rational rate{16'368'031, 1};
  const Instant start = parse_utc("2020-01-01-00:00:00", 123'456'789'011);
  const std::int64_t samples = 16'368'031ll * 3600 + 1;
  const Instant later = advance(start, samples, rate);
  EXPECT_EQ(later.seconds, start.seconds + 3600);
  const Instant exact{start.seconds + 3600, 123'456'789'011, 1'000'000'000'000};
  EXPECT_NEAR(seconds_between(exact, later), 1 / rate.value(), 3e-18);
  EXPECT_NO_THROW(advance_half(later, 1, rate));
  EXPECT_EQ(samples_between(start, later, rate), samples);
}

}  // namespace
}  // namespace tautline::core

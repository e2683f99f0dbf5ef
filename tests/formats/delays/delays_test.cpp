#include "tautline/formats/delays/delays.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tautline/core/error.h"
#include "tautline/core/units.h"
#include "tautline/formats/astronomy.h"
#include "tautline/formats/delays/direction_track.h"
#include "tautline/formats/delays/track.h"
#include "tests/support/error_of.h"

namespace tautline::formats::delays {
namespace {

ArrayLayout array_of_two() {
  ArrayLayout array;
  array.latitude_deg = -26.7033;
  array.longitude_deg = 116.6708;
  array.altitude_m = 377;
  const Site site = site_of(array);
  const Vector3 centre = ecef_m(site);
  const Vector3 places[2] = {{1200, -340, 3}, {-870, 555, -2}};
  for (std::size_t a = 0; a < 2; ++a) {
    Antenna antenna;
    antenna.number = static_cast<int>(5 + a);
    const Vector3 offset = enu_to_ecef(places[a], site);
    for (std::size_t k = 0; k < 3; ++k) antenna.ecef_m[k] = centre[k] + offset[k];
    array.antennas.push_back(antenna);
    for (const char feed : {'x', 'y'}) array.inputs.push_back({a, feed});
  }
  return array;
}

const char* const kTable = R"(
phase_centre = "3C 273"
ra_deg = 187.27791535
dec_deg = 2.05238861
valid_until = "2024-03-20T14:00:00"
[[delay]]
antenna = 5
piece = [
  { start = "2024-03-20T12:00:00", delay_s = 1e-6, delay_rate = 2e-10 },
  { start = "2024-03-20T12:10:00.5", delay_s = 1.2e-6 },
]
[[delay]]
antenna = 6
feed = "y"
piece = [{ start = "2024-03-20T12:00:00", delay_s = -3e-7 }]
[[delay]]
antenna = 6
feed = "x"
[[delay.piece]]
start = 2024-03-20T12:00:00Z
delay_s = 0
)";

TEST(Delays, ReadsPieces) {
  const Table table = parse_delays(kTable, "d.toml", array_of_two());
  EXPECT_EQ(table.phase_centre, "3C 273");
  ASSERT_TRUE(table.position);
  EXPECT_EQ(table.position->dec_deg, 2.05238861);
  ASSERT_EQ(table.inputs.size(), 4u);
  EXPECT_EQ(table.inputs[0], table.inputs[1]);
  EXPECT_EQ(table.inputs[3][0].delay_s, -3e-7);
  EXPECT_EQ(table.inputs[2][0].delay_s, 0);
  EXPECT_EQ(table.valid_until, core::parse_utc("2024-03-20T14:00:00"));
}

TEST(Delays, EvaluatesEachPieceFromItsStart) {
  const Table table = parse_delays(kTable, "d.toml", array_of_two());
  const Model& model = table.inputs[0];
  EXPECT_EQ(evaluate(model, core::parse_utc("2024-03-20T12:00:00")).delay_s, 1e-6);
  EXPECT_DOUBLE_EQ(evaluate(model, core::parse_utc("2024-03-20T12:01:40")).delay_s, 1.02e-6);
  EXPECT_EQ(evaluate(model, core::parse_utc("2024-03-20T12:01:40")).delay_rate, 2e-10);
  EXPECT_DOUBLE_EQ(evaluate(model, core::parse_utc("2024-03-20T12:10:00.4")).delay_s,
                   1e-6 + 600.4 * 2e-10);
  EXPECT_EQ(evaluate(model, core::parse_utc("2024-03-20T12:10:00.5")).delay_s, 1.2e-6);
  EXPECT_EQ(evaluate(model, core::parse_utc("2024-03-20T13:00:00")).delay_s, 1.2e-6);
  EXPECT_THROW(evaluate(model, core::parse_utc("2024-03-20T11:59:59.999999")), core::Error);
}

TEST(Delays, ReducesPhasesToATurn) {
  EXPECT_DOUBLE_EQ(phase_turns(1e9, 0.25e-9), 0.25);
  EXPECT_NEAR(phase_turns(1.5e9, 1.0 / 1.5e9 * 1e6), 0, 1e-9);
  EXPECT_NEAR(phase_turns(-150e6, 1.25 / 150e6), -0.25, 1e-12);
  EXPECT_LE(std::abs(phase_turns(43e9, 1.23456e-3)), 0.5);
}

TEST(Delays, SaysWhenItDoesNotCoverTheData) {
  const Table table = parse_delays(kTable, "d.toml", array_of_two());
  const auto t = [](const char* text) { return core::parse_utc(text); };
  EXPECT_NO_THROW(require_cover(table, 4, t("2024-03-20T12:00:00"), t("2024-03-20T14:00:00")));
  EXPECT_THROW(require_cover(table, 3, t("2024-03-20T12:00:00"), t("2024-03-20T12:00:01")),
               core::Error);
  EXPECT_THROW(require_cover(table, 4, t("2024-03-20T11:59:59"), t("2024-03-20T12:00:01")),
               core::Error);
  EXPECT_THROW(require_cover(table, 4, t("2024-03-20T12:00:00"), t("2024-03-20T14:00:01")),
               core::Error);
}

TEST(Delays, SaysHowLateItBeginsAndWhatToDo) {
  const Table table = parse_delays(kTable, "d.toml", array_of_two());
  const auto said = [&](const core::Instant& from) -> std::string {
    try {
      require_cover(table, 4, from, from);
    } catch (const core::Error& error) {
      return error.what();
    }
    return "nothing";
  };
  const std::string late = said(core::parse_utc("2024-03-20T11:59:47.5"));
  EXPECT_NE(late.find("2024-03-20T12:00:00.000000, 12.5 s late, expected no later than the data's "
                      "start, 2024-03-20T11:59:47.500000; give an earlier piece, or leave 12.5 s "
                      "of the data out with `start_s`"),
            std::string::npos)
      << late;
  const std::string unknown = said(core::advance({}, 7, {1, 1}));
  EXPECT_NE(unknown.find("the input does not say when it begins: give `utc_start`"),
            std::string::npos)
      << unknown;
}

TEST(Delays, AFeedThatTheArrayLacksIsToldWhereFeedsAreNamed) {
  ArrayLayout array = array_of_two();
  array.inputs = {{0, 'x'}, {1, 'x'}};
  try {
    parse_delays(kTable, "d.toml", array);
    FAIL() << "it was taken";
  } catch (const core::Error& error) {
    const std::string said = error.what();
    EXPECT_NE(said.find("expected a feed that antenna 6 has (x); leave it out to mean all of them, "
                        "or give the [[antenna]] of the array file its feeds = [\"x\", \"y\"]"),
              std::string::npos)
        << said;
  }
}

TEST(Delays, WritesWhatItReads) {
  const ArrayLayout array = array_of_two();
  const Table table = track(array, "odd \"name\" \\", {187.3, -30.1},
                            core::parse_utc("2024-03-20T12:00:00.123456"), 100);
  const Table again = parse_delays(to_toml(table, array), "d.toml", array);
  EXPECT_EQ(again.phase_centre, table.phase_centre);
  EXPECT_EQ(again.position->ra_deg, 187.3);
  EXPECT_EQ(again.valid_until, table.valid_until);
  EXPECT_EQ(again.inputs, table.inputs);
}

// The numbers of antennas are the same in many arrays.
TEST(Delays, OfAnotherArrayAreRefused) {
  ArrayLayout array = array_of_two();
  array.name = "here \"1\"\n";
  array.antennas[0].name = "east";
  array.antennas[1].name = "west";
  const std::string text = to_toml(
      track(array, "P", {187.3, -30.1}, core::parse_utc("2024-03-20T12:00:00"), 100), array);
  EXPECT_EQ(parse_delays(text, "d.toml", array).inputs.size(), 4u);
  const auto expect_refused = [&](const ArrayLayout& other, const std::string& words) {
    const std::string what = tests::error_of([&] { parse_delays(text, "d.toml", other); }).what();
    EXPECT_NE(what.find(words), std::string::npos) << words << " in " << what;
    EXPECT_NE(what.find("made for another array: make them for this one"), std::string::npos)
        << what;
  };
  ArrayLayout renamed = array;
  renamed.name = "there";
  expect_refused(renamed, "expected there, as in the array file");
  ArrayLayout moved = array;
  moved.antennas[1].name = "north";
  expect_refused(moved, "west, expected north, as in the array file");
  // Without an array file nothing is known of names.
  moved.positions_known = renamed.positions_known = false;
  EXPECT_EQ(parse_delays(text, "d.toml", moved).inputs.size(), 4u);
  EXPECT_EQ(parse_delays(text, "d.toml", renamed).inputs.size(), 4u);
}

TEST(Delays, NamesWhatIsWrong) {
  const std::string good =
      "phase_centre = \"P\"\n[[delay]]\nantenna = 5\npiece = [{ start = "
      "\"2024-03-20T12:00:00\", delay_s = 0 }]\n";
  const std::string six = "[[delay]]\nantenna = 6\n";
  const std::string piece = "piece = [{ start = \"2024-03-20T12:00:00\", delay_s = 0 }]\n";
  struct Case {
    std::string text;
    const char* field;
  };
  const Case cases[] = {
      {"", "phase_centre"},
      {"phase_centre = \"\"", "phase_centre"},
      {good, "antenna 6 feed x has none"},
      {good + six, "piece"},
      {good + "[[delay]]\nantenna = 7\n" + piece, "antenna (line 6): 7"},
      {good + "[[delay]]\nantenna = 5\n" + piece, "antenna 5 feed x again"},
      {good + six + "feed = \"l\"\n" + piece, "feed (line 7)"},
      {good + six + "piece = [{ start = \"2024-03-20T12:00:00\", delay_s = 1e6 }]", "delay_s"},
      {good + six + "piece = [{ start = \"2024-03-20T12:00:00\", delay_s = inf }]", "delay_s"},
      {good + six + "piece = [{ start = \"2024-03-20T12:00:00\", delay = 1 }]", "unknown field"},
      {good + six + "piece = [{ start = \"2024-03-20T12:00:00\", delay_s = 0, delay_rate = 2 }]",
       "delay_rate"},
      {good + six + "piece = [{ delay_s = 0 }]", "start"},
      {good + six +
           "piece = [{ start = \"2024-03-20T12:00:00\", delay_s = 0 }, { start = "
           "\"2024-03-20T12:00:00\", delay_s = 0 }]",
       "[[piece]] 2: start"},
      {"dec_deg = 3\n" + good, "ra_deg"},
      {"ra_deg = 3\ndec_deg = -91\n" + good, "dec_deg"},
  };
  for (const Case& c : cases) {
    try {
      parse_delays(c.text, "d.toml", array_of_two());
      ADD_FAILURE() << "accepted: " << c.text;
    } catch (const core::Error& error) {
      const std::string what = error.what();
      EXPECT_EQ(what.find("d.toml"), 0u) << what;
      EXPECT_NE(what.find(c.field), std::string::npos) << what << " lacks " << c.field;
    }
  }
}

// Cubic interpolation between knots, against the full calculation, at and beyond the ends too.
TEST(DirectionTrack, FollowsTheApparentPlace) {
  const Site site = site_of(array_of_two());
  const core::Instant start = core::parse_utc("2024-03-20T23:59:30.7");
  const DirectionTrack track(site, 187.3, -30.1, start, 100);
  for (const double seconds : {-3.0, 0.0, 0.001, 5.0, 9.999, 10.0, 55.5, 99.0, 100.0, 103.0}) {
    const core::Instant t =
        core::advance(start, std::llround(seconds * 1000), core::Rational{1000, 1});
    const Vector3 exact = apparent_place(187.3, -30.1, t, site).axes.w;
    const Vector3 after = track.at(seconds + 0.5), before = track.at(seconds - 0.5);
    for (std::size_t k = 0; k < 3; ++k) {
      EXPECT_NEAR(track.at(seconds)[k], exact[k], 2e-12) << seconds;
      EXPECT_NEAR(track.rate_at(seconds)[k], after[k] - before[k], 1e-12) << seconds;
    }
  }
}

// A wavefront's arrival at t - d plus the delay d is the same instant for all antennas.
TEST(Track, AlignsTheAntennas) {
  const ArrayLayout array = array_of_two();
  const Position position{187.3, -30.1};
  const core::Instant start = core::parse_utc("2024-03-20T12:00:00.25");
  for (const double bound : {1e-12, 1e-15}) {
    TrackOptions options;
    options.max_error_s = bound;
    options.common_delay_s = 1e-5;
    const Table table = track(array, "P", position, start, 30, options);
    require_cover(table, 4, start, core::advance(start, 30, {1, 1}));
    for (const std::int64_t milliseconds : {0, 1, 777, 15000, 29999, 30000}) {
      const core::Instant t = core::advance(start, milliseconds, {1000, 1});
      for (std::size_t input = 0; input < 4; ++input) {
        const double d = evaluate(table.inputs[input], t).delay_s;
        EXPECT_GT(d, 0);
        const auto tau_at = [&](const core::Instant& at) {
          return arrival_delay_s(
              antenna_offset_m(array, array.inputs[input].antenna),
              apparent_place(position.ra_deg, position.dec_deg, at, site_of(array)).axes);
        };
        // tau(t - d) by its rate over two seconds.
        const double rate =
            (tau_at(core::advance(t, 1, {1, 1})) - tau_at(core::advance(t, -1, {1, 1}))) / 2;
        EXPECT_NEAR(d + tau_at(t) - rate * d, 1e-5, bound + 3e-16) << milliseconds << " " << input;
      }
    }
  }
}

// The pole that is not seen from the array, one that is, and a place that sets.
TEST(Track, SaysWhatStaysBelowTheHorizon) {
  ArrayLayout array = array_of_two();
  const Site site = site_of(array);
  const double latitude_deg = site.latitude_rad / core::kRadPerDeg;
  ASSERT_GT(std::abs(latitude_deg), 5);
  const core::Instant start = core::parse_utc("2024-03-20T12:00:00");
  const double hidden_deg = latitude_deg > 0 ? -89 : 89;
  const std::string never = below_horizon(array, "Polaris", {40, hidden_deg}, start, 10);
  EXPECT_TRUE(never.starts_with("Polaris: below the horizon")) << never;
  EXPECT_NE(never.find("never rises"), std::string::npos) << never;
  EXPECT_EQ(below_horizon(array, "P", {40, -hidden_deg}, start, 10), "");
  // The celestial equator: up half a day, wherever the array is.
  int up = 0, down = 0;
  for (double ra_deg = 5; ra_deg < 360; ra_deg += 30) {
    const std::string said = below_horizon(array, "E", {ra_deg, 0}, start, 60);
    (said.empty() ? up : down) += 1;
    EXPECT_EQ(said.find("never rises"), std::string::npos) << said;
    EXPECT_EQ(below_horizon(array, "E", {ra_deg, 0}, start, 86'400), "") << ra_deg;
  }
  EXPECT_NEAR(up, down, 2);
  array.positions_known = false;
  EXPECT_EQ(below_horizon(array, "P", {40, hidden_deg}, start, 10), "");
}

TEST(Track, RefusesBadRequests) {
  const core::Instant start = core::parse_utc("2024-03-20T12:00:00");
  ArrayLayout array = array_of_two();
  EXPECT_THROW(track(array, "P", {0, 91}, start, 1), core::Error);
  EXPECT_THROW(track(array, "P", {NAN, 0}, start, 1), core::Error);
  EXPECT_THROW(track(array, "P", {0, 0}, start, -1), core::Error);
  EXPECT_THROW(track(array, "P", {0, 0}, start, 1, {.max_error_s = 0}), core::Error);
  EXPECT_THROW(track(array, "P", {0, 0}, start, 1e8, {.max_error_s = 1e-20}), core::Error);
  array.positions_known = false;
  EXPECT_THROW(track(array, "P", {0, 0}, start, 1), core::Error);
}

// UT1 - UTC of half a second is the sky of half a second later, and the pole moves delays too.
TEST(Track, FollowsTheEarthsOrientation) {
  const ArrayLayout array = array_of_two();
  const core::Instant start = core::parse_utc("2026-03-20-14:00:00");
  const core::Instant later = core::advance(start, 1, {2, 1});
  const Position position{187.3, -30.1};
  const auto delay = [&](const core::Instant& at, const EarthOrientation& earth) {
    return evaluate(track(array, "P", position, at, 1, {.earth = earth}).inputs.back(), at).delay_s;
  };
  const double plain = delay(start, {}), turned = delay(start, {.ut1_minus_utc_s = 0.5});
  EXPECT_NEAR(turned, delay(later, {}), 1e-15);
  EXPECT_GT(std::abs(turned - plain), 1e-13);
  EXPECT_NE(delay(start, {.pole_x_rad = 1e-6}), plain);
}

}  // namespace
}  // namespace tautline::formats::delays

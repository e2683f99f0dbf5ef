// Axes and ticks of figures.
#include "tautline/formats/figure/figure.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tautline/core/error.h"
#include "tests/support/seed.h"

namespace tautline::tests {
namespace {

namespace figure = formats::figure;

figure::Axis axis_of(double low, double high, figure::Scale scale = figure::Scale::linear) {
  figure::Axis axis{"label", "unit", scale};
  axis.low = low;
  axis.high = high;
  return axis;
}

TEST(FigureTicks, AreRoundInRangeAndTellValuesApart) {
  auto random = generator();
  for (int k = 0; k < 2000; ++k) {
    const double size = std::pow(10, static_cast<double>(random() % 1200) / 100 - 6);
    const double low = size * (static_cast<double>(random() % 2000) / 1000 - 1);
    const auto axis =
        axis_of(low, low + size * (0.05 + static_cast<double>(random() % 1000) / 1000));
    const auto ticks = figure::ticks(axis, 8);
    ASSERT_GE(ticks.size(), 2u) << axis.low << " to " << axis.high;
    ASSERT_LE(ticks.size(), 10u) << axis.low << " to " << axis.high;
    for (std::size_t t = 0; t < ticks.size(); ++t) {
      const double room = 1e-6 * (axis.high - axis.low);
      ASSERT_GE(ticks[t].value, axis.low - room);
      ASSERT_LE(ticks[t].value, axis.high + room);
      if (t > 0) {
        ASSERT_NE(ticks[t].text, ticks[t - 1].text) << axis.low << " to " << axis.high;
      }
    }
  }
}

TEST(FigureTicks, OfLogarithmsArePowersOfTen) {
  const auto decades = figure::ticks(axis_of(2e-7, 30, figure::Scale::logarithmic), 12);
  ASSERT_EQ(decades.size(), 8u);
  EXPECT_DOUBLE_EQ(decades.front().value, 1e-6);
  EXPECT_EQ(decades.front().text, "10\u207b\u2076");
  EXPECT_EQ(decades.back().text, "10");
  const auto within = figure::ticks(axis_of(12, 60, figure::Scale::logarithmic), 8);
  ASSERT_EQ(within.size(), 2u);
  EXPECT_EQ(within.front().text, "20");
  // Two decades have more than two ticks.
  const auto few = figure::ticks(axis_of(0.8, 80, figure::Scale::logarithmic), 5);
  ASSERT_EQ(few.size(), 6u);
  EXPECT_EQ(few.front().text, "1");
  EXPECT_EQ(few.back().text, "50");
  EXPECT_EQ(figure::ticks(axis_of(2e-7, 3e-5, figure::Scale::logarithmic), 5).size(), 2u);
}

// As of widths that are all alike, which fit_axis() gives room for a factor of two on either side.
TEST(FigureTicks, OfAFactorOfTwoAreTwoOrMore) {
  auto random = generator();
  for (int k = 0; k < 2000; ++k) {
    const double value = std::pow(10, static_cast<double>(random() % 10'000) / 1000 - 5);
    figure::Axis axis{"width", "ms", figure::Scale::logarithmic};
    figure::fit_axis(axis, {value});
    if (k % 2 == 1) axis.high = axis.low * 1.5;
    const auto ticks = figure::ticks(axis, 5);
    ASSERT_GE(ticks.size(), 2u) << axis.low << " to " << axis.high;
    ASSERT_LE(ticks.size(), 7u) << axis.low << " to " << axis.high;
    for (const auto& tick : ticks) {
      ASSERT_GE(tick.value, axis.low * (1 - 1e-6));
      ASSERT_LE(tick.value, axis.high * (1 + 1e-6));
    }
  }
}

TEST(FigureTicks, OfNamesAre1Or2Or5Apart) {
  figure::Axis axis = axis_of(0, 32);
  for (int k = 0; k < 32; ++k) axis.names.push_back(std::to_string(k));
  for (const auto& [most, step] : {std::pair{40.0, 1.0}, {20, 2}, {10, 5}, {6, 10}, {2, 20}}) {
    const auto ticks = figure::ticks(axis, most);
    ASSERT_GE(ticks.size(), 2u) << most;
    for (std::size_t t = 0; t < ticks.size(); ++t) {
      EXPECT_EQ(ticks[t].value, static_cast<double>(t) * step + 0.5) << most;
      EXPECT_EQ(ticks[t].text, std::to_string(static_cast<int>(static_cast<double>(t) * step)));
    }
  }
}

TEST(FigureTicks, OfPhasesAreQuartersOfATurn) {
  const auto ticks = figure::ticks(axis_of(-180, 180), 5);
  ASSERT_EQ(ticks.size(), 5u);
  EXPECT_EQ(ticks[0].text, "\u2212180");
  EXPECT_EQ(ticks[3].text, "90");
}

TEST(FigureAxis, HoldsItsValuesWithRoom) {
  figure::Axis axis;
  figure::fit_axis(axis, {3, NAN, 7, INFINITY});
  EXPECT_LT(axis.low, 3);
  EXPECT_GT(axis.high, 7);
  EXPECT_LT(axis.high, 8);
  for (const std::vector<double>& odd : {std::vector<double>{}, {NAN}, {0}, {5, 5}}) {
    figure::fit_axis(axis, odd);
    EXPECT_LT(axis.low, axis.high);
  }
}

TEST(Figure, WithoutAFiniteValueIsRefused) {
  figure::Panel panel;
  panel.lines.push_back({"", figure::Style::line, {0, 1}, {NAN, NAN}});
  figure::Figure made{"title", {}, {panel}};
  EXPECT_THROW(figure::require_something(made, "x"), core::Error);
  made.panels[0].lines[0].y[1] = 0;
  figure::require_something(made, "x");
}

}  // namespace
}  // namespace tautline::tests

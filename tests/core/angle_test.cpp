// Angles as people write them.
#include "tautline/core/angle.h"

#include <gtest/gtest.h>

#include "tautline/core/error.h"
#include "tests/support/error_of.h"

namespace tautline::core {
namespace {

TEST(Angle, DegreesAreNumbersAndSexagesimalTextsAreHoursOrDegrees) {
  EXPECT_EQ(read_angle_deg("187.25", AngleUnit::hours), 187.25);
  EXPECT_EQ(read_angle_deg("-12.5", AngleUnit::degrees), -12.5);
  EXPECT_DOUBLE_EQ(read_angle_deg("12:30:00", AngleUnit::hours), 187.5);
  EXPECT_DOUBLE_EQ(read_angle_deg("05:34:31.973", AngleUnit::hours),
                   15 * (5 + 34 / 60.0 + 31.973 / 3600));
  EXPECT_DOUBLE_EQ(read_angle_deg("+22:00:52.06", AngleUnit::degrees), 22 + 52.06 / 3600);
  EXPECT_DOUBLE_EQ(read_angle_deg("-26:42:11.95", AngleUnit::degrees),
                   -(26 + 42 / 60.0 + 11.95 / 3600));
  // The sign of a whole part that is zero.
  EXPECT_DOUBLE_EQ(read_angle_deg("-00:30:00", AngleUnit::degrees), -0.5);
}

TEST(Angle, WhatIsNoAngleIsRefused) {
  for (const char* text :
       {"", "abc", "12:30", "12:60:00", "12:30:60", "1:2:3:4", "12:-5:00", "12.5:00:00", "24:00:00",
        "12:30:", ":30:00", "1e1:00:00", "nan:00:00"}) {
    const core::Error error = tests::error_of([&] { read_angle_deg(text, AngleUnit::hours); });
    EXPECT_EQ(error.kind(), ErrorKind::config);
    EXPECT_NE(error.limit().find("hh:mm:ss"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace tautline::core

// Numbers in messages.
#include "tautline/core/few_digits.h"

#include <gtest/gtest.h>

namespace tautline::core {
namespace {

TEST(FewDigits, HaveNoExponent) {
  EXPECT_EQ(few_digits(0), "0");
  EXPECT_EQ(few_digits(0.0123), "0.012");
  EXPECT_EQ(few_digits(0.999), "1");
  EXPECT_EQ(few_digits(1.26), "1.3");
  EXPECT_EQ(few_digits(9.96), "10");
  EXPECT_EQ(few_digits(21.87), "22");
  EXPECT_EQ(few_digits(99.7), "100");
  EXPECT_EQ(few_digits(100), "100");
  EXPECT_EQ(few_digits(-131), "-130");
  EXPECT_EQ(few_digits(1234.5), "1200");
  EXPECT_EQ(few_digits(1234.5, 3), "1230");
  EXPECT_EQ(few_digits(3.7e6), "3700000");
}

}  // namespace
}  // namespace tautline::core

// Frequencies with units are the numbers that they stand for, digit by digit.
#include "tautline/core/frequency_text.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "tautline/core/error.h"
#include "tautline/core/time.h"

namespace tautline::core {
namespace {

TEST(FrequencyText, UnitsAreExponents) {
  for (const auto& [text, hz] : {std::pair{"1.28MHz", 1.28e6},
                                 {"1.28M", 1.28e6},
                                 {"1.28  MHz", 1.28e6},
                                 {"10kHz", 1e4},
                                 {"10k", 1e4},
                                 {"1.4204GHz", 1.4204e9},
                                 {"2G", 2e9},
                                 {"-320kHz", -320e3},
                                 {"7Hz", 7.0},
                                 {"1e3kHz", 1e6},
                                 {"1E+3kHz", 1e6},
                                 {"25e-1MHz", 2.5e6},
                                 {"1280000", 1.28e6},
                                 {"1.28e6", 1.28e6}}) {
    EXPECT_EQ(text::read_number(in_hertz(text)), hz) << text;
    EXPECT_DOUBLE_EQ(megahertz_text().read(text),
                     std::string(text).find_first_of("HkMG") == std::string::npos ? hz : hz / 1e6)
        << text;
  }
  // Exactly, where a double would round.
  EXPECT_EQ(parse_decimal(in_hertz("0.1kHz")), (Rational{100, 1}));
  EXPECT_EQ(parse_decimal(in_hertz("16.3676kHz")), (Rational{81838, 5}));
}

TEST(FrequencyText, OtherTextsStay) {
  for (const std::string text :
       {"", "MHz", "1.28mHz", "1.28 mHz", "1.28 ", "1.28MHzx", "1.28KHz", "fast", "1MHz2"})
    EXPECT_EQ(in_hertz(text), text);
  EXPECT_THROW(hertz_text(above(0)).read("1.28mHz"), Error);
  EXPECT_FALSE(hertz_text(above(0)).allows(-1));
}

}  // namespace
}  // namespace tautline::core

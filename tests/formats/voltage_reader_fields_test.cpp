// What headers of voltages may not say, as texts.
#include <gtest/gtest.h>

#include <string>

#include "tautline/core/error.h"
#include "tautline/formats/voltage_reader.h"

namespace tautline::formats {
namespace {

TEST(VoltageReaderFields, FrequenciesTakeUnits) {
  ReaderOptions options;
  const auto set = [&](const char* name, const std::string& text) {
    fields(options).named(name).set(options, text);
  };
  set("rate_hz", "1.28MHz");
  EXPECT_EQ(options.assumed.rate_hz, (core::Rational{1'280'000, 1}));
  set("rate_hz", "16.3676kHz");
  EXPECT_EQ(options.assumed.rate_hz, (core::Rational{81'838, 5}));
  set("rate_hz", "625000");
  EXPECT_EQ(options.assumed.rate_hz, (core::Rational{625'000, 1}));
  set("centre_hz", "1.4204G");
  EXPECT_EQ(options.assumed.centre_hz, 1.4204e9);
  set("bandwidth_hz", "-320kHz");
  EXPECT_EQ(options.assumed.bandwidth_hz, -320e3);
  for (const char* name : {"rate_hz", "centre_hz", "bandwidth_hz"})
    for (const std::string text : {"1.28mHz", "0", "--1kHz", "kHz"}) {
      try {
        set(name, text);
        ADD_FAILURE() << name << " " << text;
      } catch (const core::Error& error) {
        EXPECT_EQ(error.value(), text);
        EXPECT_NE(error.limit().find("or with a unit (1.28MHz)"), std::string::npos)
            << error.limit();
      }
    }
}

}  // namespace
}  // namespace tautline::formats

#include "tautline/core/byte_text.h"

#include <gtest/gtest.h>

namespace tautline::core {
namespace {

TEST(ByteText, SmallNumbersKeepTheirDigits) {
  EXPECT_EQ(byte_text(0), "0.0 KiB");
  EXPECT_EQ(byte_text(512), "0.5 KiB");
  EXPECT_EQ(byte_text(100 << 10), "100.0 KiB");
  EXPECT_EQ(byte_text(1 << 20), "1.0 MiB");
  EXPECT_EQ(byte_text(std::size_t{3} << 31), "6144.0 MiB");
}

}  // namespace
}  // namespace tautline::core

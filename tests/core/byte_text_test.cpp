#include "tautline/core/byte_text.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "tautline/core/field_text.h"

namespace tautline::core {
namespace {

TEST(ByteText, SmallNumbersKeepTheirDigits) {
  EXPECT_EQ(byte_text(0), "0 bytes");
  EXPECT_EQ(byte_text(1), "1 byte");
  EXPECT_EQ(byte_text(512), "512 bytes");
  EXPECT_EQ(byte_text(1 << 10), "1.0 KiB");
  EXPECT_EQ(byte_text(100 << 10), "100.0 KiB");
  EXPECT_EQ(byte_text(1 << 20), "1.0 MiB");
  EXPECT_EQ(byte_text(std::size_t{3} << 31), "6144.0 MiB");
}

TEST(ByteText, TheDefaultIsAtMostHalfOfTheMachines) {
  const auto all = static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) *
                   static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  EXPECT_GT(half_of_memory(), std::size_t{64} << 20);
  EXPECT_LE(half_of_memory(), all / 2);
  EXPECT_EQ(memory_size().write(half_of_memory()), "half of the machine's");
  EXPECT_EQ(memory_size().read("half of the machine's"), half_of_memory());
}

}  // namespace
}  // namespace tautline::core

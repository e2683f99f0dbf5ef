// The headers of real snapshots.
#include <gtest/gtest.h>

#include <filesystem>

#include "tautline/formats/dada/dada.h"
#include "tautline/formats/voltage_reader.h"

namespace tautline::formats {
namespace {

TEST(Tart, HeaderFactsAndSamples) {
  const std::string path = std::string(TAUTLINE_DATA_DIR) + "/tart/tart_20131020T015903.dada";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not here";
  const auto reader = dada::open(InputFile(path));
  const core::VoltageDescription& d = reader->description();
  EXPECT_EQ(core::to_string(d.format), "i8");
  EXPECT_EQ(d.antennas, 5u);
  EXPECT_EQ(d.polarisations, 1u);
  EXPECT_EQ(d.channels, 1u);
  EXPECT_EQ(d.rate_hz, (core::Rational{16'368'000, 1}));
  EXPECT_EQ(d.start, core::parse_utc("2013-10-20-01:59:03", 59'450'000'000));
  EXPECT_EQ(d.centre_hz, 1575.42e6);
  EXPECT_EQ(d.bandwidth_hz, 8.184e6);
  EXPECT_EQ(d.telescope, "TART");
  EXPECT_EQ(d.instrument, "TART-1");
  EXPECT_EQ(d.source, "GPS");
  EXPECT_EQ(reader->total_samples(), 65'535u);
  EXPECT_EQ(open_voltages(path)->total_samples(), 65'535u);  // is recognised
  EXPECT_FALSE(reader->damage().any());

  core::RawBlock block;
  std::size_t total = 0, ones = 0;
  while (const std::size_t got = reader->read(1000, block)) {
    for (std::size_t k = 0; k < got * 5; ++k) {
      const auto value = static_cast<signed char>(block.bytes[k]);
      EXPECT_TRUE(value == 1 || value == -1);
      ones += value == 1;
    }
    total += got;
  }
  EXPECT_EQ(total, 65'535u);
  EXPECT_GT(ones, total * 2);
  EXPECT_LT(ones, total * 3);
}

}  // namespace
}  // namespace tautline::formats

// Recorded files: one observation at four depths, a PSRFITS file, a series as .dat and as .tim.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "tautline/core/error.h"
#include "tautline/formats/filterbank_reader.h"
#include "tautline/formats/presto/inf.h"
#include "tests/formats/filterbank_check.h"
#include "tests/support/seed.h"

namespace tautline::formats {
namespace {

const std::filesystem::path kFolder = std::filesystem::path(TAUTLINE_DATA_DIR) / "filterbank";

class RealFilterbanks : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(kFolder))
      GTEST_SKIP() << "the recorded filterbanks are absent (" << kFolder << ")";
  }
  std::unique_ptr<FilterbankReader> open(const std::string& name) {
    return open_filterbank({(kFolder / name).string()});
  }
  std::vector<double> read(const std::string& name) {
    return tests::read_filterbank(*open(name), random_, 700);
  }
  std::mt19937_64 random_ = tests::generator();
};

// The codes of fewer bits are those of 8 bits, rounded to their steps.
TEST_F(RealFilterbanks, FourDepthsAreOneObservation) {
  const auto eight = read("parkes_8bit_1.fil"), four = read("parkes_4bit.fil");
  const auto two = read("parkes_2bit.fil"), one = read("parkes_1bit.fil");
  ASSERT_EQ(eight.size(), 4096u * 832);
  ASSERT_EQ(four.size(), eight.size());
  ASSERT_EQ(two.size(), eight.size());
  ASSERT_EQ(one.size(), eight.size());
  for (std::size_t k = 0; k < eight.size(); ++k) {
    ASSERT_EQ(four[k], std::floor(eight[k] / 17 + 0.5)) << k;
    // 106 and 149 fall on the borders between two codes.
    const double low = (eight[k] > 106) + (eight[k] > 127) + (eight[k] > 149);
    const double high = (eight[k] >= 106) + (eight[k] > 127) + (eight[k] >= 149);
    ASSERT_GE(two[k], low) << k;
    ASSERT_LE(two[k], high) << k;
    ASSERT_EQ(one[k], eight[k] >= 128 ? 1 : 0) << k;
  }
  const auto reader = open("parkes_1bit.fil");
  const auto first = open("parkes_8bit_1.fil");
  const FilterbankDescription &a = first->description(), &b = reader->description();
  EXPECT_EQ(a.channel_mhz, b.channel_mhz);
  EXPECT_EQ(a.start, b.start);
  EXPECT_EQ(a.fch1_mhz, 4030);
  EXPECT_EQ(a.foff_mhz, -4);
  EXPECT_EQ(a.rate_hz, (core::Rational{15625, 8}));
}

TEST_F(RealFilterbanks, PsrfitsReads) {
  std::unique_ptr<FilterbankReader> reader;
  try {
    reader = open("parkes_4bit.sf");
  } catch (const core::Error& error) {
    if (error.kind() == core::ErrorKind::unsupported) GTEST_SKIP() << error.what();
    throw;
  }
  const FilterbankDescription& d = reader->description();
  EXPECT_EQ(d.samples, 4096u);
  EXPECT_EQ(d.channels, 416u);
  EXPECT_EQ(d.ifs, 4u);
  EXPECT_EQ(d.summed_ifs, (std::vector<std::size_t>{0, 1}));
  EXPECT_EQ(d.bits, 4);
  EXPECT_EQ(d.telescope, "Parkes");
  EXPECT_EQ(reader->segments().size(), 1u);
  EXPECT_FALSE(reader->damage().any());
  // The file ends where the sigproc files of the same observation begin.
  const core::Instant end = core::advance(d.start, 4096, d.rate_hz);
  EXPECT_NEAR(core::seconds_between(end, open("parkes_4bit.fil")->description().start), 0, 1e-6);
  const auto values = tests::read_filterbank(*reader, random_, 700);
  ASSERT_EQ(values.size(), 4096u * 416);
  for (const double value : values) ASSERT_TRUE(std::isfinite(value));
}

TEST_F(RealFilterbanks, SeriesAgreeWithTheirHeaders) {
  const presto::Inf inf = presto::read_inf((kFolder / "GBT_J1807-0847.inf").string());
  const auto dat = open("GBT_J1807-0847.dat"), tim = open("GBT_J1807-0847.tim");
  const FilterbankDescription &d = dat->description(), &t = tim->description();
  EXPECT_EQ(d.samples, inf.bins);
  EXPECT_EQ(d.samples, 131072u);
  EXPECT_FALSE(dat->damage().any());
  EXPECT_EQ(*d.refdm, 112.3802);
  EXPECT_EQ(d.fch1_mhz, 920);
  EXPECT_EQ(presto::format_epoch(d.start), "59313.309837974340741");
  EXPECT_EQ(inf.notes.size(), 2u);
  EXPECT_EQ(t.samples, 131130u);
  EXPECT_EQ(t.rate_hz, d.rate_hz);
  EXPECT_TRUE(t.time_series && d.time_series);
  EXPECT_EQ(*t.refdm, 112.3802);
  EXPECT_EQ(t.source, "J1807-0847");
  EXPECT_NEAR(core::seconds_between(t.start, d.start), 0, 1e-6);
  EXPECT_NEAR(*t.ra_deg, *d.ra_deg, 1e-6);
  EXPECT_NEAR(*t.dec_deg, *d.dec_deg, 1e-6);
}

}  // namespace
}  // namespace tautline::formats

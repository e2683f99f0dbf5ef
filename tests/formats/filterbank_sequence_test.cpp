// Several files as one: order, gaps, overlaps, disagreement.
#include <gtest/gtest.h>

#include <cmath>

#include "tautline/core/error.h"
#include "tautline/core/exact_double.h"
#include "tautline/formats/filterbank_reader.h"
#include "tests/formats/filterbank_check.h"
#include "tests/formats/sigproc/sigproc_files.h"
#include "tests/support/seed.h"

namespace tautline::formats {
namespace {

using tests::Folder;
using tests::SigprocShape;

constexpr double kTsamp = 0.000512;

class FilterbankSequence : public ::testing::Test {
 protected:
  // 100 samples of 3 channels that begin `sample` samples after the start.
  std::string part(const std::string& name, double sample, SigprocShape shape = {}) {
    shape.tsamp = kTsamp;
    shape.tstart = 58000.25 + sample * kTsamp / 86400;
    std::vector<char> data;
    for (int k = 0; k < 300; ++k)
      data.push_back(static_cast<char>(k / 3 + static_cast<int>(sample)));
    auto header = tests::sigproc_header(shape);
    tests::write_bytes(folder_ / name, header.data(data).bytes());
    return folder_ / name;
  }
  Folder folder_;
  std::mt19937_64 random_ = tests::generator();
};

TEST_F(FilterbankSequence, FollowingFilesMakeOneSegmentInOrderOfTime) {
  const auto reader = open_filterbank({part("b", 100), part("a", 0), part("c", 200.3)});
  ASSERT_EQ(reader->segments().size(), 1u);
  EXPECT_EQ(reader->description().samples, 300u);
  ASSERT_EQ(reader->joins().size(), 2u);
  EXPECT_EQ(reader->joins()[0].sample, 100u);
  EXPECT_EQ(reader->joins()[0].before, folder_ / "a");
  EXPECT_EQ(reader->joins()[0].after, folder_ / "b");
  EXPECT_EQ(reader->joins()[1].sample, 200u);
  const auto values = tests::read_filterbank(*reader, random_, 150);
  ASSERT_EQ(values.size(), 900u);
  for (std::size_t k = 0; k < 900; ++k)
    ASSERT_EQ(values[k], static_cast<double>(static_cast<std::uint8_t>(k / 3)));
}

TEST_F(FilterbankSequence, GapsBeginANewSegment) {
  const auto reader = open_filterbank({part("a", 0), part("b", 150)});
  ASSERT_EQ(reader->segments().size(), 2u);
  EXPECT_TRUE(reader->joins().empty());
  EXPECT_EQ(reader->segments()[1].first_sample, 100u);
  EXPECT_EQ(reader->segments()[1].grid_sample, 150u);
  EXPECT_EQ(reader->segments()[1].samples, 100u);
  std::vector<std::byte> block(3 * 200);
  EXPECT_EQ(reader->read(50, 200, block), 50u);  // never across a gap
  EXPECT_EQ(reader->read(100, 200, block), 100u);
  EXPECT_EQ(static_cast<int>(block[0]), 150);
  EXPECT_EQ(reader->read(200, 1, block), 0u);
}

TEST_F(FilterbankSequence, OverlapsAndDisagreementAreRefused) {
  const std::string first = part("a", 0);
  EXPECT_THROW(open_filterbank({first, part("b", 99)}), core::Error);
  EXPECT_THROW(open_filterbank({first, first}), core::Error);
  SigprocShape other;
  other.nchans = 2;
  EXPECT_THROW(open_filterbank({first, part("c", 100, other)}), core::Error);
  other = {};
  other.fch1 = 1501;
  EXPECT_THROW(open_filterbank({first, part("d", 100, other)}), core::Error);
  other = {};
  other.nbits = 4;
  EXPECT_THROW(open_filterbank({first, part("e", 100, other)}), core::Error);
  other = {};
  other.is_signed = true;
  EXPECT_THROW(open_filterbank({first, part("f", 100, other)}), core::Error);
  EXPECT_THROW(open_filterbank({}), core::Error);
}

// Dedispersed series of bytes are channels of floats, as others are.
TEST_F(FilterbankSequence, SeriesOfBytesAreReadTogether) {
  std::vector<std::string> paths;
  for (const int dm : {20, 10}) {
    tests::SigprocBytes header;
    header.word("HEADER_START").integer("data_type", 2).real("fch1", 1500).real("foff", -1);
    header.integer("nchans", 1).integer("nbits", 8).integer("nifs", 1).real("refdm", dm);
    header.real("tstart", 58000.25).real("tsamp", kTsamp).word("HEADER_END");
    std::vector<char> data;
    for (int k = 0; k < 50; ++k) data.push_back(static_cast<char>(dm + 4 * k));
    paths.push_back(folder_ / (std::to_string(dm) + ".tim"));
    tests::write_bytes(paths.back(), header.data(data).bytes());
  }
  const auto reader = open_filterbank(paths);
  EXPECT_EQ(reader->description().trial_dms, (std::vector<double>{10, 20}));
  const auto values = tests::read_filterbank(*reader, random_, 7);
  ASSERT_EQ(values.size(), 100u);
  for (std::size_t k = 0; k < 100; ++k)
    ASSERT_EQ(values[k], static_cast<double>((k % 2 == 0 ? 10 : 20) + 4 * (k / 2)));
}

TEST(ExactDouble, RatiosThatWritersMeant) {
  EXPECT_EQ(core::simplest_ratio(0.000512), (core::Rational{8, 15625}));
  EXPECT_EQ(core::simplest_ratio(1.0 / 30000), (core::Rational{1, 30000}));
  EXPECT_EQ(core::simplest_ratio(0.00126646875), (core::Rational{40527, 32000000}));
  EXPECT_EQ(core::simplest_ratio(3), (core::Rational{3, 1}));
  EXPECT_THROW(core::simplest_ratio(0), core::Error);
  EXPECT_THROW(core::simplest_ratio(-1), core::Error);
  EXPECT_THROW(core::simplest_ratio(std::nan("")), core::Error);
  auto random = tests::generator();
  for (int k = 0; k < 10'000; ++k) {
    const double value = std::exp(std::uniform_real_distribution<>(-20, 20)(random));
    EXPECT_EQ(core::simplest_ratio(value).value(), value);
    const auto p = static_cast<std::int64_t>(1 + random() % 100'000),
               q = static_cast<std::int64_t>(1 + random() % 100'000);
    EXPECT_EQ(core::simplest_ratio(static_cast<double>(p) / static_cast<double>(q)),
              core::make_rational(p, q));
  }
}

TEST(ExactDouble, DatesComeBack) {
  auto random = tests::generator();
  for (int k = 0; k < 10'000; ++k) {
    const double mjd = std::uniform_real_distribution<>(-1000, 90000)(random);
    EXPECT_EQ(core::modified_julian_date(core::instant_of_mjd(mjd)), mjd);
  }
  EXPECT_EQ(core::instant_of_mjd(58543, 28543.5), core::parse_utc("2019-03-01T07:55:43.5"));
  EXPECT_EQ(core::instant_of_mjd(58544, -0.25), core::parse_utc("2019-03-01T23:59:59.75"));
  EXPECT_THROW(core::instant_of_mjd(INFINITY), core::Error);
}

}  // namespace
}  // namespace tautline::formats

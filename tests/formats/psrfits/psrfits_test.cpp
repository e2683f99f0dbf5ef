// Reading PSRFITS search mode: every depth, scales, polarisations, gaps; what is refused.
#include "tautline/formats/psrfits/psrfits.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tautline/core/error.h"
#include "tests/formats/filterbank_check.h"
#include "tests/formats/psrfits/psrfits_files.h"
#include "tests/formats/voltage_check.h"
#include "tests/support/seed.h"

namespace tautline::formats::psrfits {
namespace {

using tests::PsrfitsShape;
using tests::read_filterbank;

class Psrfits : public ::testing::Test {
 protected:
  std::vector<double> random_codes(const PsrfitsShape& s) {
    std::vector<double> codes(static_cast<std::size_t>(s.nchan) * s.npol * s.nsblk * s.rows);
    const double half =
        s.signint != 0 || (s.nbits == 16 && !s.tzero) ? std::ldexp(1, s.nbits - 1) : 0;
    for (double& code : codes)
      code = s.nbits == 32
                 ? std::normal_distribution<float>()(random_)
                 : static_cast<double>(random_() & ((std::uint64_t{1} << s.nbits) - 1)) - half;
    return codes;
  }

  // The definition: the value of each sample, polarisations `chosen` added up.
  static std::vector<double> values_of(const PsrfitsShape& s, const std::vector<double>& codes,
                                       const std::vector<std::size_t>& chosen) {
    const auto nchan = static_cast<std::size_t>(s.nchan), npol = static_cast<std::size_t>(s.npol);
    const std::size_t times = codes.size() / nchan / npol;
    std::vector<double> values(times * nchan, 0);
    for (std::size_t t = 0; t < times; ++t)
      for (const std::size_t p : chosen)
        for (std::size_t c = 0; c < nchan; ++c) {
          const double scale = s.scales.empty() ? 1 : s.scales[p * nchan + c];
          const double offset = s.offsets.empty() ? 0 : s.offsets[p * nchan + c];
          const double weight = s.weights.empty() ? 1 : s.weights[c];
          if (weight != 0)
            values[t * nchan + c] +=
                ((codes[(t * npol + p) * nchan + c] - s.zero_off) * scale + offset) * weight;
        }
    return values;
  }

  void expect_values(const PsrfitsShape& s, const std::vector<std::size_t>& chosen, Delivered type,
                     const FilterbankOptions& options = {}) {
    const auto codes = random_codes(s);
    tests::write_psrfits(path_, s, codes);
    const auto reader = open(path_, options);
    const FilterbankDescription& d = reader->description();
    EXPECT_EQ(to_string(d.delivered), to_string(type));
    EXPECT_EQ(d.summed_ifs, chosen);
    EXPECT_EQ(d.samples, static_cast<std::uint64_t>(s.rows) * s.nsblk);
    const auto expected = values_of(s, codes, chosen);
    const auto read = read_filterbank(*reader, random_);
    ASSERT_EQ(read.size(), expected.size());
    for (std::size_t k = 0; k < read.size(); ++k) {
      if (type == Delivered::f32)
        ASSERT_EQ(read[k], static_cast<double>(static_cast<float>(expected[k]))) << k;
      else
        ASSERT_EQ(read[k] - d.zero_level, expected[k]) << k;
    }
    const std::uint64_t first = random_() % d.samples;
    EXPECT_EQ(read_filterbank(*reader, random_, 7, first),
              std::vector<double>(read.begin() + static_cast<std::ptrdiff_t>(first) * s.nchan,
                                  read.end()));
  }

  std::string error_of(const PsrfitsShape& s) {
    tests::write_psrfits(path_, s, random_codes(s));
    try {
      open(path_);
    } catch (const core::Error& error) {
      return error.what();
    }
    return "opened";
  }

  tests::Folder folder_;
  std::string path_ = folder_ / "x[1].sf";  // brackets mean nothing
  std::mt19937_64 random_ = tests::generator();
};

TEST_F(Psrfits, EveryDepthWithoutScales) {
  for (const int nbits : {1, 2, 4, 8, 16, 32})
    for (const int nchan : {1, 3, 8})
      for (const int npol : {1, 2, 4}) {
        PsrfitsShape s;
        s.nbits = nbits, s.nchan = nchan, s.npol = npol, s.nsblk = 16;
        s.pol_type = npol == 1 ? "INTEN" : npol == 2 ? "AABB" : "IQUV";
        s.tzero = nbits == 16;
        const auto chosen =
            npol == 2 ? std::vector<std::size_t>{0, 1} : std::vector<std::size_t>{0};
        const double most = (std::ldexp(1, nbits) - 1) * static_cast<double>(chosen.size());
        SCOPED_TRACE(testing::Message() << nbits << " bits, " << nchan << " channels, " << npol);
        expect_values(s, chosen,
                      most <= 255     ? Delivered::u8
                      : most <= 65535 ? Delivered::u16
                                      : Delivered::f32);
      }
}

TEST_F(Psrfits, SignsAndZeroOffsets) {
  for (const int nbits : {2, 4, 8, 16}) {
    PsrfitsShape s;
    s.nbits = nbits;
    s.signint = 1;
    expect_values(s, {0}, nbits == 16 ? Delivered::u16 : Delivered::u8);
    s.signint = 0;
    s.tzero = nbits == 16;
    s.zero_off = 1;
    expect_values(s, {0}, nbits == 16 ? Delivered::u16 : Delivered::u8);
    s.zero_off = 1.5;  // no level of integers
    expect_values(s, {0}, Delivered::f32);
  }
}

TEST_F(Psrfits, ScalesOffsetsAndWeights) {
  for (const int nbits : {1, 2, 4, 8, 16, 32}) {
    PsrfitsShape s;
    s.nbits = nbits;
    s.npol = 2;
    s.pol_type = "AABB";
    s.zero_off = nbits == 4 ? 7.5 : 0;
    for (int k = 0; k < s.nchan * s.npol; ++k) {
      s.scales.push_back(0.25F * static_cast<float>(k + 1));
      s.offsets.push_back(static_cast<float>(k) - 3);
    }
    s.weights = {1, 0.5F, 0, 2};
    expect_values(s, {0, 1}, Delivered::f32);
  }
  PsrfitsShape s;
  s.weights = {1, 0, 1, 0};  // whole channels switched off leave integers integers
  expect_values(s, {0}, Delivered::u8);
}

// Enough at a time for several threads, from the middle of one row to that of another.
TEST_F(Psrfits, ManyTimesAtOnceAreThoseOneByOne) {
  for (const int nbits : {1, 4, 8, 16, 32})
    for (const bool scaled : {false, true}) {
      PsrfitsShape s;
      s.nbits = nbits, s.nchan = 100, s.npol = 2, s.nsblk = 48, s.rows = 40;
      s.pol_type = "AABB";
      s.tzero = nbits == 16;
      if (scaled)
        for (int k = 0; k < s.nchan * s.npol; ++k) {
          s.scales.push_back(static_cast<float>(random_() % 1000));
          s.offsets.push_back(static_cast<float>(random_() % 1000));
        }
      tests::write_psrfits(path_, s, random_codes(s));
      const auto at_once = open(path_), one_by_one = open(path_);
      const FilterbankDescription& d = at_once->description();
      const std::uint64_t first = 1 + random_() % 40;
      const auto count = static_cast<std::size_t>(d.samples - first - random_() % 40);
      std::vector<std::byte> all(count * d.sample_bytes(), std::byte{7}), expected = all;
      ASSERT_EQ(at_once->read(first, count, all), count);
      for (std::size_t t = 0; t < count; ++t)
        ASSERT_EQ(
            one_by_one->read(first + t, 1,
                             std::span(expected).subspan(t * d.sample_bytes(), d.sample_bytes())),
            1u);
      EXPECT_TRUE(all == expected) << nbits << " bits, scaled " << scaled;
    }
}

TEST_F(Psrfits, PolarisationsByTheirNames) {
  const auto summed = [&](int npol, const std::string& type) {
    PsrfitsShape s;
    s.npol = npol;
    s.pol_type = type;
    tests::write_psrfits(path_, s, random_codes(s));
    return open(path_)->description().summed_ifs;
  };
  using List = std::vector<std::size_t>;
  EXPECT_EQ(summed(1, "AA+BB"), (List{0}));
  EXPECT_EQ(summed(2, "AABB"), (List{0, 1}));
  EXPECT_EQ(summed(4, "AABBCRCI"), (List{0, 1}));
  EXPECT_EQ(summed(4, "IQUV"), (List{0}));
  EXPECT_EQ(summed(2, "strange"), (List{0, 1}));
  PsrfitsShape s;
  s.npol = 4;
  s.pol_type = "IQUV";
  FilterbankOptions options;
  options.ifs = {3};
  expect_values(s, {3}, Delivered::u8, options);
  options.ifs = {4};
  EXPECT_THROW(open(path_, options), core::Error);
}

TEST_F(Psrfits, HeaderSaysWhatTheDescriptionSays) {
  PsrfitsShape s;
  s.nsuboffs = 5;
  tests::write_psrfits(path_, s, random_codes(s));
  const auto reader = open_filterbank({path_});
  const FilterbankDescription& d = reader->description();
  EXPECT_EQ(d.format, "PSRFITS");
  EXPECT_EQ(d.telescope, "Parkes");
  EXPECT_EQ(d.machine, "Medusa");
  EXPECT_EQ(d.source, "J0534+2200");
  EXPECT_NEAR(*d.ra_deg, 15 * (5 + 34 / 60. + 31.9 / 3600), 1e-9);
  EXPECT_NEAR(*d.dec_deg, -(22 + 52 / 3600.), 1e-9);
  EXPECT_EQ(d.rate_hz, (core::Rational{15625, 8}));
  EXPECT_EQ(d.start, core::advance(core::parse_utc("2019-03-01T07:55:43.25"), 80, d.rate_hz));
  EXPECT_EQ(d.channel_mhz, (std::vector<double>{1500, 1499.5, 1499, 1498.5}));
  EXPECT_EQ(d.foff_mhz, -0.5);
  EXPECT_TRUE(d.evenly_spaced);
  EXPECT_TRUE(reader->remarks().empty());
  EXPECT_FALSE(reader->damage().any());
  EXPECT_EQ(reader->segments().size(), 1u);
}

TEST_F(Psrfits, RowsThatAreMissingLeaveAGap) {
  PsrfitsShape s;
  s.rows = 4;
  const double row_s = s.nsblk * s.tbin;
  s.row_middles_s = {0.5 * row_s, 1.5 * row_s, 4.5 * row_s, 5.5 * row_s};
  const auto codes = random_codes(s);
  tests::write_psrfits(path_, s, codes);
  const auto reader = open(path_);
  ASSERT_EQ(reader->segments().size(), 2u);
  EXPECT_EQ(reader->segments()[1].first_sample, 32u);
  EXPECT_EQ(reader->segments()[1].grid_sample, 64u);
  EXPECT_EQ(reader->segments()[1].start,
            core::advance(reader->description().start, 64, reader->description().rate_hz));
  std::vector<std::byte> block(64 * 4);
  EXPECT_EQ(reader->read(20, 64, block), 12u);
  EXPECT_EQ(read_filterbank(*reader, random_), codes);
  // Times that make no sense are not believed.
  s.row_middles_s = {0, 0, 0, 0};
  tests::write_psrfits(path_, s, codes);
  EXPECT_EQ(open(path_)->segments().size(), 1u);
  EXPECT_EQ(open(path_)->remarks().size(), 1u);
}

TEST_F(Psrfits, LastRowMayBeFilledInPart) {
  PsrfitsShape s;
  s.nstot = 2 * s.nsblk + 5;
  auto codes = random_codes(s);
  tests::write_psrfits(path_, s, codes);
  const auto reader = open(path_);
  EXPECT_EQ(reader->description().samples, 37u);
  codes.resize(37 * 4);
  EXPECT_EQ(read_filterbank(*reader, random_), codes);
}

TEST_F(Psrfits, TablesThatContradictThemselvesAreRefused) {
  const auto refuses = [&](auto change, const std::string& word) {
    PsrfitsShape s;
    change(s);
    EXPECT_NE(error_of(s).find(word), std::string::npos) << word << ": " << error_of(s);
  };
  refuses([](auto& s) { s.wrong_data = 4; }, "column DATA");
  refuses([](auto& s) { s.wrong_scales = 1; }, "column DAT_SCL");
  refuses([](auto& s) { s.foff = 0; }, "DAT_FREQ");
  refuses([](auto& s) { s.fch1 = -1; }, "DAT_FREQ");
  refuses([](auto& s) { s.fch1 = NAN; }, "DAT_FREQ");
  refuses([](auto& s) { s.tbin = 0; }, "TBIN");
  refuses([](auto& s) { s.obs_mode = "PSR"; }, "OBS_MODE");
  refuses([](auto& s) { s.rows = 0; }, "SUBINT");
  tests::write_bytes(path_, std::vector<char>(5000, 'x'));
  EXPECT_THROW(open(path_), core::Error);
}

TEST_F(Psrfits, CutFilesDeliverTheirWholeRows) {
  PsrfitsShape s;
  s.nchan = 100;
  s.nsblk = 64;
  const auto codes = random_codes(s);
  tests::write_psrfits(path_, s, codes);
  const auto whole = tests::read_bytes(path_);
  // Cut inside the second row: rows are 100 x 64 bytes and their columns.
  tests::write_bytes(path_, {whole.begin(), whole.end() - 9000});
  const auto reader = open(path_);
  EXPECT_TRUE(reader->damage().any());
  EXPECT_LT(reader->description().samples, 3u * 64);
  EXPECT_GT(reader->description().samples, 0u);
  const auto read = read_filterbank(*reader, random_);
  EXPECT_EQ(read, std::vector<double>(codes.begin(),
                                      codes.begin() + static_cast<std::ptrdiff_t>(read.size())));
}

TEST_F(Psrfits, RandomMutationsNeverBreakTheReader) {
  PsrfitsShape s;
  s.nbits = 4;
  tests::write_psrfits(path_, s, random_codes(s));
  const auto good = tests::read_bytes(path_);
  for (int trial = 0; trial < 300; ++trial) {
    auto bad = good;
    // Digits and letters of the table's header, where the sizes are, and anything anywhere.
    for (int change = 0; change < 3; ++change) {
      const std::size_t at = random_() % (random_() % 4 == 0 ? bad.size() : 2880 * 3);
      bad[at] =
          random_() % 2 ? static_cast<char>('0' + random_() % 10) : static_cast<char>(random_());
    }
    if (random_() % 4 == 0) bad.resize(random_() % bad.size());
    tests::write_bytes(path_, bad);
    try {
      const auto reader = open(path_);
      if (reader->description().sample_bytes() < 100'000) read_filterbank(*reader, random_, 500);
    } catch (const core::Error& error) {
      EXPECT_NE(error.kind(), core::ErrorKind::device) << error.what();
    }
  }
}

}  // namespace
}  // namespace tautline::formats::psrfits

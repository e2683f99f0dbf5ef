// Reading sigproc's files: what headers mean, how samples are delivered, what is refused.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <limits>

#include "tautline/core/error.h"
#include "tautline/formats/sigproc/sigproc.h"
#include "tests/formats/filterbank_check.h"
#include "tests/formats/sigproc/sigproc_files.h"
#include "tests/support/seed.h"

namespace tautline::formats::sigproc {
namespace {

using tests::Folder;
using tests::read_filterbank;
using tests::sigproc_data;
using tests::sigproc_header;
using tests::SigprocBytes;
using tests::SigprocShape;

class SigprocReader : public ::testing::Test {
 protected:
  std::string write(SigprocBytes header, const std::vector<char>& data) {
    tests::write_bytes(path_, header.data(data).bytes());
    return path_;
  }
  std::string error_of(const SigprocBytes& header) {
    write(header, std::vector<char>(60, 1));
    try {
      open(path_);
    } catch (const core::Error& error) {
      EXPECT_EQ(error.kind(), core::ErrorKind::format);
      EXPECT_NE(std::string(error.what()).find(path_), std::string::npos) << error.what();
      return error.what();
    }
    return "opened";
  }
  std::vector<double> random_values(std::size_t count, int nbits, bool is_signed = false) {
    std::vector<double> values(count);
    for (double& value : values) {
      const auto code = random_() & ((std::uint64_t{1} << nbits) - 1);
      value = nbits == 32 ? static_cast<float>(std::normal_distribution<>()(random_))
                          : static_cast<double>(code) - (is_signed ? 128 : 0);
    }
    return values;
  }

  Folder folder_;
  std::string path_ = folder_ / "x.fil";
  std::mt19937_64 random_ = tests::generator();
};

TEST_F(SigprocReader, HeaderSaysWhatTheDescriptionSays) {
  SigprocBytes header;
  header.word("HEADER_START").text("rawdatafile", "raw.sf").text("source_name", "Vela");
  header.integer("machine_id", 2).integer("telescope_id", 6).real("src_raj", 83520.61149);
  header.real("src_dej", -451034.8751).real("az_start", 12.5).real("za_start", 30.25);
  header.integer("data_type", 1).real("fch1", 1600.5).real("foff", 0.25).integer("nchans", 4);
  header.integer("nbeams", 13).integer("ibeam", 7).integer("nbits", 8).real("tstart", 59000.125);
  header.real("tsamp", 6.4e-5).integer("nifs", 1).integer("barycentric", 1).word("HEADER_END");
  write(header, std::vector<char>(40));
  const auto reader = open(path_);
  const FilterbankDescription& d = reader->description();
  EXPECT_EQ(d.channel_mhz, (std::vector<double>{1600.5, 1600.75, 1601, 1601.25}));
  EXPECT_EQ(d.highest_mhz(), 1601.25);
  EXPECT_EQ(d.lowest_mhz(), 1600.5);
  EXPECT_EQ(d.foff_mhz, 0.25);
  EXPECT_EQ(d.rate_hz, (core::Rational{15625, 1}));
  EXPECT_EQ(d.start, core::parse_utc("2020-05-31-03:00:00"));
  EXPECT_EQ(d.tstart_mjd, 59000.125);
  EXPECT_EQ(d.samples, 10u);
  EXPECT_EQ(d.source, "Vela");
  EXPECT_EQ(d.rawdatafile, "raw.sf");
  EXPECT_EQ(d.telescope, "GBT");
  EXPECT_EQ(d.machine, "WAPP");
  EXPECT_NEAR(*d.ra_deg, 15 * (8 + 35 / 60. + 20.61149 / 3600), 1e-9);
  EXPECT_NEAR(*d.dec_deg, -(45 + 10 / 60. + 34.8751 / 3600), 1e-9);
  EXPECT_EQ(*d.azimuth_deg, 12.5);
  EXPECT_EQ(d.beams, 13);
  EXPECT_EQ(d.beam, 7);
  EXPECT_TRUE(d.barycentric);
  EXPECT_FALSE(d.time_series);
  EXPECT_FALSE(reader->damage().any());
  EXPECT_TRUE(reader->remarks().empty());
  // And back again.
  const Header again = header_of(d);
  EXPECT_NEAR(*again.src_raj, 83520.61149, 1e-6);
  EXPECT_NEAR(*again.src_dej, -451034.8751, 1e-6);
  EXPECT_EQ(again.telescope_id, 6);
  EXPECT_EQ(again.fch1_mhz, 1600.5);
}

// Every depth, one IF to three, awkward numbers of channels: any split of the reads gives the
// values.
TEST_F(SigprocReader, EveryDepthIsDeliveredExactly) {
  for (const int nbits : {1, 2, 4, 8, 16, 32})
    for (const int nifs : {1, 2, 3})
      for (const int nchans : {1, 3, 8, 33}) {
        const std::size_t times = 1 + random_() % 200;
        const std::size_t per_time = static_cast<std::size_t>(nchans) * nifs;
        // The bits that fill the last byte would make more samples where samples are so small.
        const std::size_t bits = per_time * nbits;
        const std::size_t whole = bits >= 8 ? times : (times + 7) / 8 * 8;
        const auto values = random_values(whole * per_time, nbits);
        SigprocShape shape;
        shape.nchans = nchans, shape.nbits = nbits, shape.nifs = nifs;
        write(sigproc_header(shape), sigproc_data(values, nbits));
        const auto reader = open(path_);
        const FilterbankDescription& d = reader->description();
        SCOPED_TRACE(testing::Message() << nbits << " bits, " << nifs << " IFs, " << nchans);
        ASSERT_EQ(d.samples, whole);
        const double most = nbits == 32 ? 1e9 : (std::pow(2, nbits) - 1) * nifs;
        EXPECT_EQ(d.delivered, most <= 255     ? Delivered::u8
                               : most <= 65535 ? Delivered::u16
                                               : Delivered::f32);
        std::vector<double> expected(whole * nchans, 0);
        for (std::size_t t = 0; t < whole; ++t)
          for (int k = 0; k < nifs; ++k)
            for (int c = 0; c < nchans; ++c)
              expected[t * nchans + c] += values[(t * nifs + k) * nchans + c];
        if (nbits == 32)
          for (double& value : expected) value = static_cast<float>(value);
        ASSERT_EQ(read_filterbank(*reader, random_), expected);
        // Any place in the file, without what comes before.
        const std::uint64_t first = random_() % whole;
        ASSERT_EQ(
            read_filterbank(*reader, random_, 50, first),
            std::vector<double>(expected.begin() + static_cast<std::ptrdiff_t>(first * nchans),
                                expected.end()));
      }
}

TEST_F(SigprocReader, SignedBytesAreMovedUpByHalfTheirRange) {
  for (const int nifs : {1, 2}) {
    SigprocShape shape;
    shape.nifs = nifs;
    shape.is_signed = true;
    auto values = random_values(3 * nifs * 20u, 8, true);
    values[0] = -128;
    values[3] = 127;
    write(sigproc_header(shape), sigproc_data(values, 8));
    const auto reader = open(path_);
    EXPECT_EQ(reader->description().zero_level, 128u * nifs);
    const auto read = read_filterbank(*reader, random_);
    ASSERT_EQ(read.size(), 60u);
    for (std::size_t t = 0; t < 20; ++t)
      for (std::size_t c = 0; c < 3; ++c) {
        double sum = 0;
        for (int k = 0; k < nifs; ++k) sum += values[(t * nifs + k) * 3 + c];
        ASSERT_EQ(read[t * 3 + c] - reader->description().zero_level, sum);
      }
  }
}

TEST_F(SigprocReader, ChosenIfs) {
  SigprocShape shape;
  shape.nifs = 4;
  const auto values = random_values(3 * 4 * 10, 8);
  write(sigproc_header(shape), sigproc_data(values, 8));
  FilterbankOptions options;
  options.ifs = {2};
  const auto one = open(path_, options);
  EXPECT_EQ(one->description().delivered, Delivered::u8);
  const auto read = read_filterbank(*one, random_);
  for (std::size_t t = 0; t < 10; ++t)
    for (std::size_t c = 0; c < 3; ++c) ASSERT_EQ(read[t * 3 + c], values[(t * 4 + 2) * 3 + c]);
  EXPECT_TRUE(one->remarks().empty());
  // Four IFs of unknown meaning are added up.
  ASSERT_EQ(open(path_)->remarks().size(), 1u);
  EXPECT_NE(open(path_)->remarks()[0].find("4 IFs are added up"), std::string::npos);
  options.ifs = {0, 3};
  EXPECT_TRUE(open(path_, options)->remarks().empty());
  options.ifs = {4};
  EXPECT_THROW(open(path_, options), core::Error);
}

TEST_F(SigprocReader, NotFiniteValuesPass) {
  SigprocShape shape;
  shape.nbits = 32;
  const float nan = std::numeric_limits<float>::quiet_NaN(),
              inf = -std::numeric_limits<float>::infinity();
  write(sigproc_header(shape), sigproc_data({1, nan, inf}, 32));
  const auto read = read_filterbank(*open(path_), random_);
  ASSERT_EQ(read.size(), 3u);
  EXPECT_TRUE(std::isnan(read[1]));
  EXPECT_EQ(read[2], inf);
}

TEST_F(SigprocReader, BothFrequencyOrdersAndZero) {
  SigprocShape shape;
  shape.foff = 2;
  write(sigproc_header(shape), std::vector<char>(30));
  EXPECT_EQ(open(path_)->description().highest_mhz(), 1504);
  shape.foff = -2;
  write(sigproc_header(shape), std::vector<char>(30));
  EXPECT_EQ(open(path_)->description().highest_mhz(), 1500);
  shape.foff = 0;
  EXPECT_NE(error_of(sigproc_header(shape)).find("foff"), std::string::npos);
  shape.nchans = 1;  // nothing to space
  EXPECT_EQ(error_of(sigproc_header(shape)), "opened");
  shape.nchans = 3;
  shape.foff = -750;  // the last channel would be at 0
  EXPECT_NE(error_of(sigproc_header(shape)).find("positive"), std::string::npos);
}

TEST_F(SigprocReader, AbsurdHeadersAreRefusedByField) {
  const double nan = std::nan(""), inf = INFINITY;
  const auto check = [&](auto change, const std::string& field) {
    SigprocShape shape;
    change(shape);
    EXPECT_NE(error_of(sigproc_header(shape)).find(field), std::string::npos) << field;
  };
  for (const int n : {0, -1, 1 << 30, INT32_MIN}) check([&](auto& s) { s.nchans = n; }, "nchans");
  for (const int n : {0, -8, 3, 64}) check([&](auto& s) { s.nbits = n; }, "nbits");
  for (const int n : {0, -1, 65}) check([&](auto& s) { s.nifs = n; }, "nifs");
  for (const double x : {0., -1., nan, inf, 1e300}) check([&](auto& s) { s.tsamp = x; }, "tsamp");
  for (const double x : {nan, inf, 1e300}) check([&](auto& s) { s.tstart = x; }, "tstart");
  for (const double x : {nan, -inf, -1500.}) check([&](auto& s) { s.fch1 = x; }, "fch1");
  for (const double x : {nan, inf}) check([&](auto& s) { s.foff = x; }, "foff");
  SigprocBytes profile;
  profile.word("HEADER_START").integer("data_type", 3).integer("nchans", 1).integer("nbits", 8);
  profile.real("tsamp", 1).word("HEADER_END");
  EXPECT_NE(error_of(profile).find("data_type"), std::string::npos);
  SigprocBytes bare;
  bare.word("HEADER_START").integer("nchans", 4).word("HEADER_END");
  EXPECT_NE(error_of(bare).find("nbits"), std::string::npos);
}

TEST_F(SigprocReader, UnknownKeywordsAreSteppedOver) {
  SigprocBytes header;
  header.word("HEADER_START").integer("my_number", 7).real("my_real", 2.5).text("my_text", "words");
  header.integer("nchans", 3).integer("nbits", 8).byte("my_flag", 1).real("fch1", 1400);
  header.real("foff", -1).real("tsamp", 0.001).word("HEADER_END");
  write(header, std::vector<char>(9, 5));
  const auto reader = open(path_);
  EXPECT_EQ(reader->description().samples, 3u);
  ASSERT_EQ(reader->remarks().size(), 3u);  // two places, and tstart is 0
  EXPECT_NE(reader->remarks()[0].find("'my_number'"), std::string::npos);
  EXPECT_NE(reader->remarks()[1].find("'my_flag'"), std::string::npos);
  EXPECT_EQ(read_filterbank(*reader, random_), std::vector<double>(9, 5));
  SigprocBytes lost;
  lost.word("HEADER_START").integer("my_number", 7).integer("my_other", 7);
  EXPECT_NE(error_of(lost).find("my_number"), std::string::npos);
}

TEST_F(SigprocReader, TableOfFrequencies) {
  SigprocBytes header;
  header.word("HEADER_START").integer("nchans", 3).integer("nbits", 8).real("tsamp", 0.001);
  header.word("FREQUENCY_START")
      .real("fchannel", 1400)
      .real("fchannel", 1398)
      .real("fchannel", 1390);
  header.word("FREQUENCY_END").word("HEADER_END");
  write(header, std::vector<char>(9));
  const auto reader = open(path_);
  EXPECT_FALSE(reader->description().evenly_spaced);
  EXPECT_EQ(reader->description().channel_mhz, (std::vector<double>{1400, 1398, 1390}));
  SigprocBytes wrong;
  wrong.word("HEADER_START").integer("nchans", 4).integer("nbits", 8).real("tsamp", 0.001);
  wrong.word("FREQUENCY_START").real("fchannel", 1400).word("FREQUENCY_END").word("HEADER_END");
  EXPECT_NE(error_of(wrong).find("fchannel"), std::string::npos);
}

TEST_F(SigprocReader, SpectraOfSecondsMayBeOfMicroseconds) {
  for (const double tsamp : {1e-3, 0.5, 1.0, 64.0}) {
    SigprocBytes header;
    header.word("HEADER_START").integer("nchans", 3).integer("nbits", 8).real("fch1", 1400);
    header.real("foff", -1).real("tsamp", tsamp).real("tstart", 5e4).word("HEADER_END");
    write(header, std::vector<char>(9, 5));
    const auto reader = open(path_);
    ASSERT_EQ(reader->remarks().size(), tsamp < 1 ? 0u : 1u) << tsamp;
    if (tsamp < 1) continue;
    EXPECT_NE(reader->remarks()[0].find("s looks like microseconds"), std::string::npos)
        << reader->remarks()[0];
  }
}

// The size of the file holds, whatever nsamples says.
TEST_F(SigprocReader, SizeOverNsamples) {
  SigprocBytes header;
  header.word("HEADER_START").integer("nsamples", 1000).integer("nchans", 3).integer("nbits", 8);
  header.real("fch1", 1400)
      .real("foff", -1)
      .real("tsamp", 0.001)
      .real("tstart", 5e4)
      .word("HEADER_END");
  write(header, std::vector<char>(30));
  const auto reader = open(path_);
  EXPECT_EQ(reader->description().samples, 10u);
  ASSERT_EQ(reader->remarks().size(), 1u);
  EXPECT_NE(reader->remarks()[0].find("nsamples 1000"), std::string::npos);
  EXPECT_FALSE(reader->damage().any());
}

TEST_F(SigprocReader, TailsThatAreNoWholeSampleAreDamage) {
  for (const int nbits : {1, 2, 4, 8, 16, 32}) {
    SigprocShape shape;
    shape.nchans = 16;
    shape.nbits = nbits;
    const std::size_t whole = 16u * nbits / 8;
    for (std::size_t extra = 0; extra < whole; ++extra) {
      write(sigproc_header(shape), std::vector<char>(5 * whole + extra, 1));
      const auto reader = open(path_);
      EXPECT_EQ(reader->description().samples, 5u);
      EXPECT_EQ(reader->damage().trailing_bytes, extra);
      EXPECT_EQ(reader->damage().any(), extra > 0);
      EXPECT_EQ(read_filterbank(*reader, random_).size(), 5u * 16);
    }
  }
}

TEST_F(SigprocReader, NoSamplesAtAll) {
  write(sigproc_header({}), {});
  const auto reader = open(path_);
  EXPECT_EQ(reader->description().samples, 0u);
  EXPECT_TRUE(reader->segments().empty());
  EXPECT_TRUE(read_filterbank(*reader, random_).empty());
}

TEST_F(SigprocReader, OtherFilesAndCutHeadersAreRefused) {
  const auto whole = sigproc_header({}).bytes();
  for (std::size_t cut = 0; cut < whole.size(); ++cut) {
    tests::write_bytes(
        path_, std::vector<char>(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(cut)));
    EXPECT_THROW(open(path_), core::Error) << cut;
    EXPECT_THROW(open_filterbank({path_}), core::Error) << cut;
  }
  std::vector<char> swapped = whole;
  std::swap(swapped[0], swapped[3]);
  tests::write_bytes(path_, swapped);
  EXPECT_THROW(
      try { open(path_); } catch (const core::Error& error) {
        EXPECT_EQ(error.kind(), core::ErrorKind::unsupported);
        throw;
      },
      core::Error);
  EXPECT_THROW(open(folder_ / "absent"), core::Error);
}

TEST_F(SigprocReader, AFileThatShrinksReadsAsZerosAndIsCounted) {
  write(sigproc_header({}), std::vector<char>(30, 7));
  const auto reader = open(path_);
  std::filesystem::resize_file(path_, std::filesystem::file_size(path_) - 10);
  const auto read = read_filterbank(*reader, random_, 100);
  ASSERT_EQ(read.size(), 30u);
  EXPECT_EQ(read[19], 7);
  EXPECT_EQ(read[20], 0);
  EXPECT_GE(reader->damage().lost_samples, 4u);
}

TEST_F(SigprocReader, SmallDestinationsAreRefused) {
  write(sigproc_header({}), std::vector<char>(30, 7));
  std::vector<std::byte> small(8);
  EXPECT_THROW(open(path_)->read(0, 3, small), core::Error);
  EXPECT_EQ(open(path_)->read(0, 2, small), 2u);
  EXPECT_EQ(open(path_)->read(10, 3, small), 0u);
  EXPECT_EQ(open(path_)->read(UINT64_MAX, 3, small), 0u);
}

TEST_F(SigprocReader, RandomMutationsNeverBreakTheReader) {
  SigprocShape shape;
  shape.nchans = 4;
  shape.nbits = 2;
  SigprocBytes header = sigproc_header(shape);
  const std::vector<char> good = header.data(std::vector<char>(50, 3)).bytes();
  for (int trial = 0; trial < 1'000; ++trial) {
    tests::write_bytes(path_, tests::mutate(good, random_));
    try {
      const auto reader = open(path_);
      const auto& d = reader->description();
      EXPECT_LE(d.samples, 8u * (good.size() + 5000));
      if (d.sample_bytes() < 100'000) read_filterbank(*reader, random_, 1 + random_() % 600);
    } catch (const core::Error& error) {
      EXPECT_TRUE(error.kind() == core::ErrorKind::format ||
                  error.kind() == core::ErrorKind::unsupported)
          << error.what();
    }
  }
}

}  // namespace
}  // namespace tautline::formats::sigproc

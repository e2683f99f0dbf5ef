// PRESTO's .dat with .inf, and rfifind's masks.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>

#include "tautline/core/error.h"
#include "tautline/core/exact_double.h"
#include "tautline/formats/presto/dat.h"
#include "tautline/formats/presto/mask.h"
#include "tests/formats/filterbank_check.h"
#include "tests/formats/voltage_check.h"
#include "tests/support/error_of.h"
#include "tests/support/seed.h"

namespace tautline::formats::presto {
namespace {

using tests::Folder;

Inf example() {
  Inf inf;
  inf.telescope = "Parkes";
  inf.instrument = "Medusa";
  inf.object = "J0534+2200";
  inf.epoch = core::instant_of_mjd(58543, 28543.3605);
  inf.bin_s = 0.000512;
  inf.dm = 56.7712345;
  inf.low_channel_mhz = 1200.5;
  inf.channel_width_mhz = 0.5;
  inf.channels = 200;
  inf.bandwidth_mhz = 100;
  inf.notes = {"a note", "another = one"};
  return inf;
}

TEST(Inf, ComesBack) {
  const Inf inf = example();
  const Inf back = parse_inf(format_inf(inf), "x.inf");
  EXPECT_EQ(back.telescope, inf.telescope);
  EXPECT_EQ(back.object, inf.object);
  EXPECT_EQ(back.bin_s, inf.bin_s);
  EXPECT_EQ(back.dm, inf.dm);
  EXPECT_EQ(back.notes, inf.notes);
  EXPECT_EQ(back.channels, inf.channels);
  EXPECT_EQ(back.highest_mhz(), 1300);
  EXPECT_LT(std::abs(core::seconds_between(back.epoch, inf.epoch)), 1e-10);
  EXPECT_FALSE(back.barycentred);
}

TEST(Inf, EpochsAreExactToTheirDecimals) {
  EXPECT_EQ(format_epoch(core::parse_utc("2020-05-31-03:00:00")), "59000.125000000000000");
  EXPECT_EQ(parse_epoch("59000.125"), core::parse_utc("2020-05-31-03:00:00"));
  EXPECT_EQ(format_epoch(parse_epoch("59313.309837974340741")), "59313.309837974340741");
  EXPECT_EQ(parse_epoch("59000"), core::parse_utc("2020-05-31-00:00:00"));
  auto random = tests::generator();
  for (int k = 0; k < 1000; ++k) {
    char text[40];
    std::snprintf(text, sizeof text, "%05d.%015llu", static_cast<int>(40000 + random() % 40000),
                  static_cast<unsigned long long>(random() % 1'000'000'000'000'000));
    EXPECT_EQ(format_epoch(parse_epoch(text)), text);
  }
  for (const char* bad : {"", "x", "1.2.3", "-5", "59000.1x", "1e5"})
    EXPECT_THROW(parse_epoch(bad), core::Error) << bad;
}

TEST(Inf, AnglesAsText) {
  EXPECT_EQ(hours_text(15 * (8 + 35 / 60. + 20.6115 / 3600)), "08:35:20.6115");
  EXPECT_EQ(degrees_text(-(0 + 10 / 60. + 34.8751 / 3600)), "-00:10:34.8751");
  EXPECT_EQ(degrees_text(12 + 59 / 60. + 59.99999 / 3600), "13:00:00.0000");
}

TEST(Inf, BadLinesAreNamed) {
  const std::string good = format_inf(example());
  const auto error_of = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    try {
      parse_inf(text, "x.inf");
    } catch (const core::Error& error) {
      EXPECT_EQ(error.kind(), core::ErrorKind::format);
      return std::string(error.what());
    }
    return std::string("read");
  };
  EXPECT_NE(error_of("0.000512", "fast").find("Width of each"), std::string::npos);
  EXPECT_NE(error_of("0.000512", "-1").find("Width of each"), std::string::npos);
  EXPECT_NE(error_of("0.000512", "nan").find("Width of each"), std::string::npos);
  EXPECT_NE(error_of("=  58543.", "=  soon ").find("Epoch"), std::string::npos);
  EXPECT_NE(error_of(" Number of bins in the time series      =", " Something   =")
                .find("Number of bins"),
            std::string::npos);
  EXPECT_THROW(parse_inf("", "x.inf"), core::Error);
  EXPECT_THROW(parse_inf("HEADER_START", "x.inf"), core::Error);
}

TEST(Dat, WhatIsWrittenReadsBackWithAnEvenNumberOfBins) {
  auto random = tests::generator();
  for (const std::size_t count : {0u, 1u, 2u, 7u, 1000u, 1001u}) {
    const Folder folder;
    std::vector<float> samples(count);
    for (float& sample : samples) sample = std::normal_distribution<float>()(random);
    DatWriter writer(folder / "series.dat", example(), false);
    for (std::size_t at = 0; at < count;) {
      const std::size_t piece = std::min<std::size_t>(random() % 5, count - at);
      writer.write(std::span(samples).subspan(at, piece));
      at += piece;
    }
    EXPECT_FALSE(std::filesystem::exists(folder / "series.dat"));
    writer.finish();
    for (const char* name : {"series.dat", "series.inf"}) {
      if (count < 2) {
        const core::Error error = tests::error_of([&] { open_filterbank({folder / name}); });
        EXPECT_NE(std::string(error.what()).find("series.dat: an empty file"), std::string::npos)
            << error.what();
        continue;
      }
      const auto reader = open_filterbank({folder / name});
      const FilterbankDescription& d = reader->description();
      EXPECT_EQ(d.samples, count / 2 * 2);
      EXPECT_TRUE(d.time_series);
      EXPECT_EQ(*d.refdm, 56.7712345);
      EXPECT_EQ(*d.refdm_constant, kDispersionConstant);
      EXPECT_DOUBLE_EQ(d.dm_with(4148.808), 56.7712345 / 2.41e-4 / 4148.808);
      EXPECT_EQ(d.rawdatafile, "series");
      EXPECT_EQ(d.fch1_mhz, 1300);
      EXPECT_EQ(d.rate_hz, (core::Rational{15625, 8}));
      EXPECT_FALSE(reader->damage().any());
      const auto read = tests::read_filterbank(*reader, random);
      ASSERT_EQ(read.size(), count / 2 * 2);
      for (std::size_t k = 0; k < read.size(); ++k) ASSERT_EQ(read[k], samples[k]);
    }
  }
}

TEST(Dat, SizesThatDisagree) {
  const Folder folder;
  DatWriter writer(folder / "s.dat", example(), false);
  writer.write(std::vector<float>(100));
  writer.finish();
  std::filesystem::resize_file(folder / "s.dat", 4 * 60 + 3);
  const auto cut = open(folder / "s.dat");
  EXPECT_EQ(cut->description().samples, 60u);
  EXPECT_EQ(cut->damage().trailing_bytes, 3u);
  EXPECT_EQ(cut->damage().lost_samples, 40u);
  std::filesystem::resize_file(folder / "s.dat", 4 * 120);
  const auto longer = open(folder / "s.dat");
  EXPECT_EQ(longer->description().samples, 120u);
  EXPECT_EQ(longer->remarks().size(), 1u);
  std::filesystem::remove(folder / "s.inf");
  EXPECT_THROW(open(folder / "s.dat"), core::Error);
  EXPECT_THROW(DatWriter(folder / "s.txt", example(), false), core::Error);
}

TEST(Dat, DmsAreThoseThatPrestoNeedsForTheSameDelays) {
  FilterbankDescription d;
  d.channels = 4;
  d.channel_mhz = {1503, 1502, 1501, 1500};
  d.foff_mhz = -1;
  d.tsamp_s = 1e-4;
  const Inf inf = inf_of(d, 100, 4148.808);
  EXPECT_NEAR(inf.dm / 2.41e-4, 100 * 4148.808, 1e-6);
  EXPECT_DOUBLE_EQ(inf_of(d, 100, 1 / 2.41e-4).dm, 100);
  EXPECT_EQ(inf.low_channel_mhz, 1500);
  EXPECT_EQ(inf.highest_mhz(), 1503);
  EXPECT_EQ(inf.bandwidth_mhz, 4);
}

struct MaskBytes {
  std::vector<char> bytes;
  template <class T>
  MaskBytes& put(T value) {
    char raw[sizeof value];
    std::memcpy(raw, &value, sizeof value);
    bytes.insert(bytes.end(), raw, raw + sizeof value);
    return *this;
  }
  MaskBytes& list(std::initializer_list<std::int32_t> values) {
    for (const auto value : values) put(value);
    return *this;
  }
};

// 5 channels, 3 intervals of 100 samples.
MaskBytes mask_bytes() {
  MaskBytes mask;
  for (const double value : {10., 4., 58000.5, 0.05, 1400., 2.}) mask.put(value);
  mask.list({5, 3, 100}).list({2, 4, 1}).list({1, 2});
  mask.list({1, 0, 5}).list({3});  // all five of the last interval are not listed
  return mask;
}

TEST(Mask, ChannelsAndIntervals) {
  const Folder folder;
  tests::write_bytes(folder / "m.mask", mask_bytes().bytes);
  const Mask mask = read_mask(folder / "m.mask");
  EXPECT_EQ(mask.channels, 5u);
  EXPECT_EQ(mask.intervals, 3u);
  EXPECT_EQ(mask.zapped_channels, (std::vector<std::size_t>{1, 4}));
  EXPECT_EQ(mask.zapped_intervals, (std::vector<std::size_t>{2}));
  EXPECT_EQ(mask.interval_channels[0], (std::vector<std::size_t>{3}));
  EXPECT_EQ(mask.interval_channels[2].size(), 5u);
  EXPECT_EQ(mask.interval_of(0), 0u);
  EXPECT_EQ(mask.interval_of(199), 1u);
  EXPECT_EQ(mask.interval_of(100'000), 2u);
  FilterbankDescription d;
  d.channels = 5;
  d.channel_mhz = {1408, 1406, 1404, 1402, 1400};
  using Flags = std::vector<std::uint8_t>;
  EXPECT_EQ(mask.channel_flags(0, d), (Flags{1, 1, 0, 1, 0}));
  EXPECT_EQ(mask.channel_flags(1, d), (Flags{1, 0, 0, 1, 0}));
  EXPECT_EQ(mask.channel_flags(2, d), (Flags{1, 1, 1, 1, 1}));
  d.channel_mhz = {1400, 1402, 1404, 1406, 1408};
  EXPECT_EQ(mask.channel_flags(0, d), (Flags{0, 1, 0, 1, 1}));
  d.channel_mhz = {1410, 1412, 1414, 1416, 1418};
  EXPECT_THROW(mask.channel_flags(0, d), core::Error);
  d.channels = 4;
  EXPECT_THROW(mask.channel_flags(0, d), core::Error);
}

TEST(Mask, CutAndDamagedMasksAreRefused) {
  const Folder folder;
  auto random = tests::generator();
  const std::vector<char> good = mask_bytes().bytes;
  const std::string path = folder / "m.mask";
  for (std::size_t cut = 0; cut < good.size(); ++cut) {
    tests::write_bytes(path, {good.begin(), good.begin() + static_cast<std::ptrdiff_t>(cut)});
    EXPECT_THROW(read_mask(path), core::Error) << cut;
  }
  for (int trial = 0; trial < 1000; ++trial) {
    tests::write_bytes(path, tests::mutate(good, random));
    try {
      const Mask mask = read_mask(path);
      for (const std::size_t channel : mask.zapped_channels) EXPECT_LT(channel, mask.channels);
    } catch (const core::Error& error) {
      EXPECT_EQ(error.kind(), core::ErrorKind::format) << error.what();
    }
  }
}

TEST(Dat, RandomMutationsNeverBreakTheReader) {
  const Folder folder;
  auto random = tests::generator();
  DatWriter writer(folder / "s.dat", example(), false);
  writer.write(std::vector<float>(100));
  writer.finish();
  const auto good = tests::read_bytes(folder / "s.inf");
  for (int trial = 0; trial < 500; ++trial) {
    tests::write_bytes(folder / "s.inf", tests::mutate(good, random));
    try {
      tests::read_filterbank(*open(folder / "s.dat"), random);
    } catch (const core::Error& error) {
      EXPECT_EQ(error.kind(), core::ErrorKind::format) << error.what();
    }
  }
}

}  // namespace
}  // namespace tautline::formats::presto

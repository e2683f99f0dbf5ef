// Reading DADA: what headers mean, in which order samples lie, where streams begin and end.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "tautline/core/error.h"
#include "tautline/formats/dada/dada.h"
#include "tests/formats/dada/dada_files.h"
#include "tests/formats/voltage_check.h"
#include "tests/support/error_of.h"
#include "tests/support/seed.h"

namespace tautline::formats::dada {
namespace {

using tests::dada_bytes;
using tests::Folder;
using tests::plain_keys;
using tests::random_data;
using tests::with;

std::unique_ptr<VoltageReader> open_keys(const Folder& folder, const tests::Keys& keys,
                                         const std::vector<char>& data) {
  const std::string path = folder / "x.dada";
  tests::write_bytes(path, dada_bytes(keys, data));
  return open(InputFile(path));
}

TEST(DadaReader, HeaderOfAPlainFile) {
  const Folder folder;
  const auto reader = open_keys(folder, plain_keys(), random_data(8 * 100));
  const core::VoltageDescription& d = reader->description();
  EXPECT_EQ(core::to_string(d.format), "ci8");
  EXPECT_EQ(d.inputs(), 4u);
  EXPECT_EQ(d.rate_hz, (core::Rational{1'280'000, 1}));
  EXPECT_EQ(d.start, core::parse_utc("2020-02-29-23:59:59.5"));
  EXPECT_EQ(d.centre_hz, 150.5e6);
  EXPECT_EQ(d.bandwidth_hz, 1.28e6);
  EXPECT_EQ(reader->total_samples(), 100u);
  EXPECT_EQ(reader->block_bytes(10), 80u);
  EXPECT_FALSE(reader->damage().any());
}

TEST(DadaReader, CommentsBlanksAndFirstOfTwoKeys) {
  const Folder folder;
  tests::Keys keys = plain_keys();
  keys.insert(keys.begin(), {"#", "a comment that says NBIT 4"});
  keys = with(keys, "SOURCE", "\t  Vela X \t # no");
  keys.emplace_back("NBIT", "16");
  const auto reader = open_keys(folder, keys, {});
  EXPECT_EQ(reader->description().source, "Vela X");
  EXPECT_EQ(reader->description().format.bits, 8);
}

TEST(DadaReader, ObsOffsetMovesTheStartExactly) {
  const Folder folder;
  // An hour of eight-byte times at 1.28 MHz, and one sample.
  const auto reader = open_keys(
      folder, with(plain_keys(), "OBS_OFFSET", std::to_string((3600ull * 1'280'000 + 1) * 8)), {});
  core::Instant expected = core::parse_utc("2020-03-01-00:59:59.5");
  expected = core::advance(expected, 1, {1'280'000, 1});
  EXPECT_EQ(reader->description().start, expected);
}

TEST(DadaReader, RateComesFromBandwidthWhereTsampRoundsIt) {
  const Folder folder;
  const auto rate = [&](const tests::Keys& keys) {
    return open_keys(folder, keys, {})->description().rate_hz;
  };
  const tests::Keys keys = plain_keys();
  EXPECT_EQ(rate(with(keys, "TSAMP", "0.7812500003")), (core::Rational{1'280'000, 1}));
  EXPECT_EQ(rate(with(keys, "BW", "-1.28")), (core::Rational{1'280'000, 1}));
  EXPECT_EQ(rate(with(with(with(keys, "NDIM", "1"), "BW", "8.184"), "TSAMP", "0.0610948191593353")),
            (core::Rational{16'368'000, 1}));
  EXPECT_EQ(rate(with(with(keys, "NCHAN", "3"), "TSAMP", "2.34375")),
            (core::Rational{1'280'000, 3}));
  // Oversampled by 4/3 in the instrument: TSAMP itself, exactly.
  EXPECT_EQ(rate(with(with(keys, "NCHAN", "8"), "TSAMP", "4.6875")), (core::Rational{640'000, 3}));
  // The same with more digits than a ratio of integers holds.
  const core::Rational long_rate =
      rate(with(with(with(keys, "NCHAN", "7"), "TSAMP", "4.1015624999999999999999"), "BW", "1.28"));
  EXPECT_NEAR(long_rate.value(), 1e6 / 4.1015625, 1e-6);
  // Exactly stated.
  EXPECT_EQ(
      rate(with(with(with(keys, "BW", "0.333333333"), "TSAMP", "3"), "EXACT_RATE_HZ", "1000000/3")),
      (core::Rational{1'000'000, 3}));
  // Samples hold no wider band than their rate; of channels, some may be left out.
  EXPECT_EQ(rate(with(keys, "BW", "1.29")), (core::Rational{1'280'000, 1}));
  for (const char* wide : {"1.3", "2", "2.56"})
    EXPECT_THROW(rate(with(keys, "BW", wide)), core::Error) << wide;
  EXPECT_EQ(rate(with(with(with(keys, "NCHAN", "4"), "BW", "2.56"), "TSAMP", "3.125")),
            (core::Rational{320'000, 1}));
}

TEST(DadaReader, NumbersOfEveryNotation) {
  const Folder folder;
  const auto d = open_keys(folder,
                           with(with(with(plain_keys(), "FREQ", "+1.57542e3"), "BW", "128E-2"),
                                "TSAMP", ".78125"),
                           {})
                     ->description();
  EXPECT_EQ(d.centre_hz, 1575.42e6);
  EXPECT_EQ(d.bandwidth_hz, 1.28e6);
  EXPECT_EQ(open_keys(folder, with(plain_keys(), "FREQ", "0"), {})->description().centre_hz, 0);
  // Channels of a band whose centre is not known, as tautline writes them.
  EXPECT_EQ(
      open_keys(folder, with(with(plain_keys(), "FREQ", "-2.5"), "EXACT_RATE_HZ", "1280000/1"), {})
          ->description()
          .centre_hz,
      -2.5e6);
}

TEST(DadaReader, FrequenciesInOtherUnitsAreRefused) {
  const Folder folder;
  EXPECT_EQ(open_keys(folder, with(plain_keys(), "FREQ", "0.64"), {})->description().centre_hz,
            0.64e6);
  for (const auto& [value, expected] :
       {std::pair{"150500000", "megahertz, at most 1000000 (1 THz)"},
        {"0.1505", "megahertz, 0.64 or more for a band of 1.28 that does not reach below 0"},
        {"-150.5", "megahertz, 0.64 or more"}}) {
    try {
      open_keys(folder, with(plain_keys(), "FREQ", value), {});
      ADD_FAILURE() << value;
    } catch (const core::Error& error) {
      EXPECT_EQ(error.kind(), core::ErrorKind::format);
      const std::string text = error.what();
      for (const char* part : {"centre frequency in MHz, key FREQ", value, expected})
        EXPECT_NE(text.find(part), std::string::npos) << text;
    }
  }
}

TEST(DadaReader, EncodingsAndTheFloatDefault) {
  const Folder folder;
  const auto format = [&](const std::string& bits, const std::string& encoding) {
    const tests::Keys keys = with(with(plain_keys(), "NBIT", bits), "ENCODING", encoding);
    return core::to_string(open_keys(folder, keys, {})->description().format);
  };
  EXPECT_EQ(format("8", "OFFSET_BINARY"), "cu8");
  EXPECT_EQ(format("8", "OffsetBinary"), "cu8");
  EXPECT_EQ(format("4", "TWOS_COMPLEMENT"), "ci4");
  EXPECT_EQ(format("16", "TwosComplement"), "ci16");
  EXPECT_EQ(format("32", "IEEE_FLOAT"), "cf32");
  EXPECT_EQ(format("32", "-"), "cf32");
}

// Every order of the axes, every width: the sample that the file holds at a place is the sample
// that comes out for it.
TEST(DadaReader, EveryOrderDeliversTheSamplesOfThatOrder) {
  const Folder folder;
  auto random = tests::generator();
  std::string order = "AFPT";
  do {
    for (const int bits : {1, 4, 8, 16}) {
      const bool complex = random() % 2;
      const std::size_t channels = 1 + random() % 3, antennas = 1 + random() % 5,
                        polarisations = 1 + random() % 2;
      // Whole bytes in all, so that the file's size says how many times there are.
      const std::size_t times = 8 * (1 + random() % 5);
      std::map<char, std::size_t> extent{
          {'T', times}, {'F', channels}, {'A', antennas}, {'P', polarisations}};
      const auto width = static_cast<std::size_t>(bits) * (complex ? 2 : 1);
      const auto data = random_data(times * channels * antennas * polarisations * width / 8);
      tests::Keys keys = plain_keys();
      keys = with(keys, "ORDER", order);
      keys = with(keys, "NBIT", std::to_string(bits));
      keys = with(keys, "NDIM", complex ? "2" : "1");
      keys = with(keys, "NCHAN", std::to_string(channels));
      keys = with(keys, "NANT", std::to_string(antennas));
      keys = with(keys, "NPOL", std::to_string(polarisations));
      keys = with(keys, "TSAMP",
                  std::to_string(0.78125 * static_cast<double>(channels) / (complex ? 1 : 2)));
      const auto reader = open_keys(folder, keys, data);
      ASSERT_EQ(reader->total_samples(), times);
      const std::size_t step = 1 + random() % (times + 3);
      const tests::Stream stream = tests::read_all(*reader, step);
      ASSERT_EQ(stream.samples(), times) << order;
      const core::SampleFormat format = reader->description().format;
      for (std::size_t t = 0; t < times; ++t)
        for (std::size_t c = 0; c < channels; ++c)
          for (std::size_t a = 0; a < antennas; ++a)
            for (std::size_t p = 0; p < polarisations; ++p) {
              const std::map<char, std::size_t> at{{'T', t}, {'F', c}, {'A', a}, {'P', p}};
              std::size_t index = 0;
              for (const char letter : order) index = index * extent[letter] + at.at(letter);
              const auto* bytes = reinterpret_cast<const std::byte*>(data.data());
              const std::complex<double> expected(
                  core::decode_integer(bytes, index * width, format),
                  complex ? core::decode_integer(bytes, index * width + width / 2, format) : 0);
              ASSERT_EQ(stream.at(c, a * polarisations + p, t), expected)
                  << order << " bits " << bits << " step " << step;
            }
    }
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(DadaReader, ShortBlocksKeepTheLayoutOfFullOnes) {
  const Folder folder;
  const auto reader = open_keys(folder, with(plain_keys(), "ORDER", "APFT"), random_data(8 * 100));
  core::RawBlock block;
  EXPECT_EQ(reader->read(64, block), 64u);
  EXPECT_EQ(reader->read(64, block), 36u);
  EXPECT_EQ(block.layout, reader->layout(64));
  EXPECT_EQ(block.bytes.size(), reader->block_bytes(64));
  EXPECT_EQ(block.first_sample, 64u);
  EXPECT_EQ(reader->read(64, block), 0u);
}

TEST(DadaReader, SeekStartsAtASample) {
  const Folder folder;
  for (const char* order : {"TFAP", "APFT"})
    for (const char* bits : {"8", "1"}) {
      const tests::Keys keys = with(with(plain_keys(), "ORDER", order), "NBIT", bits);
      const auto data = random_data(8 * 100);
      const tests::Stream whole = tests::read_all(*open_keys(folder, keys, data), 1000);
      const auto reader = open_keys(folder, keys, data);
      reader->seek(37);
      const tests::Stream rest = tests::read_all(*reader, 10);
      ASSERT_EQ(rest.first_sample(), 37u);
      ASSERT_EQ(rest.samples(), whole.samples() - 37);
      for (std::size_t t = 0; t < rest.samples(); ++t)
        for (std::size_t i = 0; i < 4; ++i) ASSERT_EQ(rest.at(0, i, t), whole.at(0, i, t + 37));
      reader->seek(1'000'000);
      core::RawBlock block;
      EXPECT_EQ(reader->read(10, block), 0u);
    }
}

TEST(DadaReader, TruncatedFilesDeliverWhatIsWhole) {
  const Folder folder;
  const auto data = random_data(8 * 50 + 5);
  const auto reader = open_keys(folder, plain_keys(), data);
  EXPECT_EQ(reader->total_samples(), 50u);
  EXPECT_EQ(tests::read_all(*reader, 16).samples(), 50u);
  EXPECT_EQ(reader->damage().trailing_bytes, 5u);
  ASSERT_EQ(reader->damage().messages.size(), 1u);
  EXPECT_NE(reader->damage().messages[0].find("byte 4496"), std::string::npos);

  // FILE_SIZE tells that whole samples are missing too.
  const auto cut = open_keys(folder, with(plain_keys(), "FILE_SIZE", "800"), data);
  EXPECT_EQ(cut->total_samples(), 50u);
  EXPECT_EQ(cut->damage().lost_samples, (100u - 50u) * 4);  // whole times
  EXPECT_EQ(cut->damage().messages.size(), 2u);

  // A header and no samples is damage, not an error: a recording that was killed at once.
  const auto nothing = open_keys(folder, with(plain_keys(), "FILE_SIZE", "800"), {});
  EXPECT_EQ(nothing->total_samples(), 0u);
  EXPECT_TRUE(nothing->damage().any());
}

TEST(DadaReader, BytesBehindTheSamplesAreCounted) {
  const Folder folder;
  const auto data = random_data(800 + 37);
  for (const char* order : {"TFAP", "ATFP"}) {
    const auto keys = with(with(plain_keys(), "ORDER", order), "FILE_SIZE", "800");
    const auto reader = open_keys(folder, keys, data);
    EXPECT_EQ(reader->total_samples(), 100u);
    EXPECT_EQ(tests::read_all(*reader, 16).samples(), 100u);
    EXPECT_EQ(reader->damage().trailing_bytes, 37u);
    EXPECT_EQ(reader->damage().lost_samples, 0u);
    ASSERT_EQ(reader->damage().messages.size(), 1u);
    EXPECT_NE(reader->damage().messages[0].find("byte 4896: 37, expected none"), std::string::npos)
        << reader->damage().messages[0];
  }
}

TEST(DadaReader, AFileThatShrinksWhileItIsReadEndsInInvalidSamples) {
  const Folder folder;
  const auto reader = open_keys(folder, plain_keys(), random_data(8 * 50));
  std::filesystem::resize_file(folder / "x.dada", 4096 + 8 * 20 + 3);
  const tests::Stream stream = tests::read_all(*reader, 16);
  ASSERT_EQ(stream.samples(), 50u);
  for (std::size_t t = 0; t < 50; ++t) EXPECT_EQ(stream.valid(2, t), t < 20) << t;
  EXPECT_EQ(reader->damage().lost_samples, 30u * 4);
  EXPECT_TRUE(reader->damage().any());
}

TEST(DadaReader, LyingHeadersAreRefusedByName) {
  const Folder folder;
  struct Lie {
    const char* key;
    const char* value;
  };
  const std::vector<Lie> lies{{"HDR_SIZE", "0"},
                              {"HDR_SIZE", "-4096"},
                              {"HDR_SIZE", "1000000"},
                              {"HDR_SIZE", "4096.5"},
                              {"HDR_SIZE", "99999999999999999999"},
                              {"HDR_SIZE", "100"},
                              {"HDR_SIZE", "nan"},
                              {"NBIT", "0"},
                              {"NBIT", "-8"},
                              {"NBIT", "7"},
                              {"NBIT", "64"},
                              {"NBIT", "eight"},
                              {"NBIT", "-"},
                              {"NBIT", "8 8"},
                              {"NDIM", "0"},
                              {"NDIM", "3"},
                              {"NDIM", "-"},
                              {"NPOL", "0"},
                              {"NPOL", "4"},
                              {"NPOL", "-1"},
                              {"NANT", "0"},
                              {"NANT", "1e3"},
                              {"NANT", "70000"},
                              {"NCHAN", "0"},
                              {"NCHAN", "-1"},
                              {"NCHAN", "99999999999"},
                              {"NCHAN", "16777216000000000000000000"},
                              {"NCHAN", "1000"},
                              {"TSAMP", "0"},
                              {"TSAMP", "-0.78125"},
                              {"TSAMP", "nan"},
                              {"TSAMP", "inf"},
                              {"TSAMP", "-"},
                              {"TSAMP", "1e30"},
                              {"TSAMP", "1e-30"},
                              {"TSAMP", "7.8125e-7"},
                              {"TSAMP", "781250"},
                              {"TSAMP", "0.78125us"},
                              {"TSAMP", ""},
                              {"TSAMP", "1e999"},
                              {"TSAMP", "0x1p3"},
                              {"BW", "0"},
                              {"BW", "nan"},
                              {"BW", "-"},
                              {"BW", "1e300"},
                              {"BW", "1.2.8"},
                              {"FREQ", "-"},
                              {"FREQ", "inf"},
                              {"FREQ", "high"},
                              {"FREQ", "1e400"},
                              {"FREQ", "150500000"},
                              {"FREQ", "-2.5"},
                              {"UTC_START", "-"},
                              {"UTC_START", "UNKNOWN"},
                              {"UTC_START", "2020-13-01-00:00:00"},
                              {"UTC_START", "2019-02-29-00:00:00"},
                              {"PICOSECONDS", "-1"},
                              {"PICOSECONDS", "1000000000000"},
                              {"PICOSECONDS", "1.5"},
                              {"OBS_OFFSET", "-8"},
                              {"OBS_OFFSET", "3"},
                              {"OBS_OFFSET", "9223372036854775807"},
                              {"ORDER", "FAP"},
                              {"ORDER", "TFP"},
                              {"ORDER", "TTFAP"},
                              {"ORDER", "TBAP"},
                              {"ORDER", ""},
                              {"ORDER", "tfap"},
                              {"ENCODING", "GRAY"},
                              {"ENCODING", "IEEE_FLOAT"},
                              {"FILE_SIZE", "-1"},
                              {"EXACT_RATE_HZ", "1/3"},
                              {"EXACT_RATE_HZ", "0/0"},
                              {"EXACT_RATE_HZ", "x"},
                              {"EXACT_START_S", "1/3"},
                              {"EXACT_START_S", "3/2"}};
  for (const Lie& lie : lies) {
    const core::Error error = tests::error_of(
        [&] { open_keys(folder, with(plain_keys(), lie.key, lie.value), random_data(8 * 100)); });
    const std::string text = error.what();
    EXPECT_EQ(error.kind(), core::ErrorKind::format) << text;
    EXPECT_TRUE(text.starts_with(folder / "x.dada")) << text;
    const bool implied = std::string(lie.key) == "NCHAN" && std::string(lie.value) == "1000";
    EXPECT_NE(text.find(implied ? "TSAMP" : lie.key), std::string::npos) << text;
    EXPECT_FALSE(error.limit().empty()) << text;
    EXPECT_FALSE(error.advice().empty()) << text;
  }
}

TEST(DadaReader, ThirtyTwoBitIntegersAndBigEndianAreRefused) {
  const Folder folder;
  const tests::Keys wide = with(plain_keys(), "NBIT", "32");
  EXPECT_THROW(open_keys(folder, with(wide, "ENCODING", "TWOS_COMPLEMENT"), {}), core::Error);
  EXPECT_THROW(open_keys(folder, with(wide, "ENDIAN", "BIG"), {}), core::Error);
  EXPECT_NO_THROW(open_keys(folder, with(plain_keys(), "ENDIAN", "BIG"), {}));  // 8 bits
}

TEST(DadaReader, InstrumentsThatInterleaveNeedAnOrder) {
  const Folder folder;
  const tests::Keys keys = with(with(plain_keys(), "INSTRUMENT", "CASPSR"), "ORDER", "-");
  EXPECT_THROW(open_keys(folder, keys, {}), core::Error);
  EXPECT_NO_THROW(open_keys(folder, with(keys, "ORDER", "TFAP"), {}));
  EXPECT_NO_THROW(open_keys(folder, with(plain_keys(), "ORDER", "-"), {}));  // unknown: TFAP
}

TEST(DadaReader, OrdersWithTimeInsideNeedAWholeFile) {
  const Folder folder;
  const tests::Keys keys = with(plain_keys(), "ORDER", "ATFP");
  EXPECT_NO_THROW(open_keys(folder, keys, random_data(8 * 10)));
  EXPECT_THROW(open_keys(folder, keys, random_data(8 * 10 + 3)), core::Error);
  EXPECT_THROW(open_keys(folder, with(keys, "FILE_SIZE", "800"), random_data(8 * 10)), core::Error);
}

TEST(DadaReader, WhatIsNoFileIsRefused) {
  const Folder folder;
  EXPECT_THROW(open(InputFile(folder / "missing.dada")), core::Error);
  EXPECT_THROW(open(InputFile(folder.path().string())), core::Error);
  tests::write_bytes(folder / "empty.dada", {});
  EXPECT_THROW(open(InputFile(folder / "empty.dada")), core::Error);
  tests::write_bytes(folder / "binary.dada", random_data(5000));
  EXPECT_THROW(open(InputFile(folder / "binary.dada")), core::Error);
}

TEST(DadaReader, IsRecognisedByItsFirstBytesOrItsName) {
  const auto bytes = dada_bytes(plain_keys(), {});
  const auto span = std::as_bytes(std::span(bytes));
  EXPECT_TRUE(recognise(span, "x"));
  EXPECT_TRUE(recognise({}, "x.dada"));
  EXPECT_FALSE(recognise({}, "x.raw"));
  const std::string card = "NBITS   =                    8 HDR_SIZE 4096";
  EXPECT_FALSE(recognise(std::as_bytes(std::span(card.data(), card.size())), "x.raw"));
  const Folder folder;
  tests::write_bytes(folder / "nameless", bytes);
  EXPECT_EQ(open_voltages(folder / "nameless")->description().inputs(), 4u);
}

TEST(DadaReader, RandomDamageNeverCrashes) {
  const Folder folder;
  auto random = tests::generator();
  const auto data = random_data(8 * 40);
  std::size_t opened = 0, refused = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    tests::Keys keys = with(plain_keys(), "HDR_SIZE", "512");
    if (trial % 2) keys = with(keys, "ORDER", "ATFP");
    const std::string path = folder / "x.dada";
    tests::write_bytes(path, tests::mutate(dada_bytes(keys, data, 512), random));
    try {
      const auto reader = open(InputFile(path));
      ++opened;
      core::RawBlock block;
      for (int k = 0; k < 4; ++k) reader->read(16, block);
    } catch (const core::Error&) {
      ++refused;
    }
  }
  EXPECT_GT(opened, 100u);
  EXPECT_GT(refused, 100u);
}

}  // namespace
}  // namespace tautline::formats::dada

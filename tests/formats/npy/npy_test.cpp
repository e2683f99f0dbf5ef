// NPY arrays: headers as numpy writes them, shapes and orders, lies, truncation, the two writers.
#include "tautline/formats/npy/npy.h"

#include <gtest/gtest.h>

#include <complex>
#include <cstring>
#include <filesystem>
#include <span>

#include "tautline/core/error.h"
#include "tautline/formats/npy/header.h"
#include "tests/formats/cut_feed.h"
#include "tests/formats/voltage_check.h"
#include "tests/support/seed.h"

namespace tautline::formats::npy {
namespace {

using tests::Folder;

core::VoltageDescription assumed(bool complex = true, std::size_t polarisations = 1) {
  core::VoltageDescription d;
  d.format.complex = complex;
  d.polarisations = polarisations;
  d.rate_hz = {1'000'000, 3};
  return d;
}

std::vector<char> random_data(std::size_t bytes) {
  auto random = tests::generator();
  std::vector<char> data(bytes);
  for (char& c : data) c = static_cast<char>(random());
  return data;
}

// A file as the NPY specification describes it, by hand.
std::vector<char> file_of(const std::string& dictionary, const std::vector<char>& data,
                          int version = 1) {
  std::string text = dictionary + "\n";
  std::string bytes = "\x93NUMPY";
  bytes += static_cast<char>(version);
  bytes += '\0';
  for (int k = 0; k < (version == 1 ? 2 : 4); ++k)
    bytes += static_cast<char>(text.size() >> (8 * k) & 0xff);
  bytes += text;
  std::vector<char> out(bytes.begin(), bytes.end());
  out.insert(out.end(), data.begin(), data.end());
  return out;
}

std::string dictionary(const std::string& type, const std::string& shape, bool fortran = false) {
  return "{'descr': '" + type + "', 'fortran_order': " + (fortran ? "True" : "False") +
         ", 'shape': " + shape + ", }";
}

std::unique_ptr<VoltageReader> open_bytes(const Folder& folder, const std::vector<char>& bytes,
                                          const core::VoltageDescription& d) {
  const std::string path = folder / "x.npy";
  tests::write_bytes(path, bytes);
  return open(path, d);
}

TEST(NpyReader, ShapesAreTimeLast) {
  const Folder folder;
  const auto data = random_data(2 * 3 * 4 * 10 * 2);
  const auto d = [&](const std::string& shape, std::size_t polarisations) {
    const auto reader =
        open_bytes(folder, file_of(dictionary("|i1", shape), data), assumed(true, polarisations));
    EXPECT_EQ(reader->total_samples(), 10u) << shape;
    return reader->description();
  };
  const auto four = d("(2, 3, 4, 10, 2)", 1);
  EXPECT_EQ(four.channels, 2u);
  EXPECT_EQ(four.antennas, 3u);
  EXPECT_EQ(four.polarisations, 4u);
  EXPECT_EQ(core::to_string(four.format), "ci8");
  EXPECT_EQ(four.rate_hz, (core::Rational{1'000'000, 3}));
  EXPECT_DOUBLE_EQ(four.bandwidth_hz, 2e6 / 3);
  const auto three = d("(2, 12, 10, 2)", 2);
  EXPECT_EQ(three.antennas, 6u);
  EXPECT_EQ(three.polarisations, 2u);
  const auto two = d("(24, 10, 2)", 1);
  EXPECT_EQ(two.channels, 1u);
  EXPECT_EQ(two.antennas, 24u);
  const auto one =
      open_bytes(folder, file_of(dictionary("<i2", "(7,)"), random_data(14)), assumed(false));
  EXPECT_EQ(core::to_string(one->description().format), "i16");
  EXPECT_EQ(one->description().inputs(), 1u);
  EXPECT_EQ(one->total_samples(), 7u);
}

// [time][2] may have been meant as two inputs.
TEST(NpyReader, PairsOfOneInputAreSaid) {
  const Folder folder;
  const auto data = random_data(60);
  const auto said = [&](const std::string& type, const std::string& shape, bool complex) {
    return open_bytes(folder, file_of(dictionary(type, shape), data), assumed(complex))
        ->description()
        .assumed;
  };
  const std::string one = said("|i1", "(30, 2)", true);
  EXPECT_NE(one.find("(30, 2) is taken for one input"), std::string::npos) << one;
  EXPECT_NE(one.find("(2, 30)"), std::string::npos) << one;
  EXPECT_NE(one.find("`format` i8"), std::string::npos) << one;
  EXPECT_NE(said("<f2", "(15, 2)", true), "");
  EXPECT_EQ(said("|i1", "(30, 2)", false), "");
  EXPECT_EQ(said("|i1", "(2, 15, 2)", true), "");
  EXPECT_EQ(said("<i2", "(1, 15, 2)", true), "");
}

TEST(NpyReader, HalvesComeInPairs) {
  const Folder folder;
  const auto data = random_data(2 * 3 * 10 * 4);
  const auto reader =
      open_bytes(folder, file_of(dictionary("<f2", "(2, 3, 10, 2)"), data), assumed());
  EXPECT_EQ(reader->description().format, core::kCf16);
  EXPECT_EQ(reader->description().channels, 2u);
  EXPECT_EQ(reader->description().antennas, 3u);
  EXPECT_EQ(reader->total_samples(), 10u);
  const auto real = open_bytes(folder, file_of(dictionary("<f2", "(6, 20)"), data), assumed(false));
  EXPECT_EQ(core::to_string(real->description().format), "f16");
  EXPECT_EQ(real->total_samples(), 20u);
  EXPECT_THROW(open_bytes(folder, file_of(dictionary("<f2", "(6, 20)"), data), assumed()),
               core::Error);
}

TEST(NpyReader, CAndFortranOrderHoldTheSameSamples) {
  const Folder folder;
  const std::size_t channels = 3, antennas = 2, polarisations = 2, times = 17;
  const auto c_order = random_data(channels * antennas * polarisations * times);
  // The same array with the first axis fastest.
  std::vector<char> fortran(c_order.size());
  for (std::size_t f = 0; f < channels; ++f)
    for (std::size_t i = 0; i < 4; ++i)
      for (std::size_t t = 0; t < times; ++t)
        fortran[(t * 4 + i) * channels + f] = c_order[(f * 4 + i) * times + t];
  const auto description = assumed(false, polarisations);
  const auto a = open_bytes(folder, file_of(dictionary("|u1", "(3, 4, 17)"), c_order), description);
  const tests::Stream from_c = tests::read_all(*a, 5);
  const auto b =
      open_bytes(folder, file_of(dictionary("|u1", "(3, 4, 17)", true), fortran), description);
  const tests::Stream from_fortran = tests::read_all(*b, 7);
  ASSERT_EQ(from_c.samples(), times);
  ASSERT_EQ(from_fortran.samples(), times);
  for (std::size_t f = 0; f < channels; ++f)
    for (std::size_t i = 0; i < 4; ++i)
      for (std::size_t t = 0; t < times; ++t) {
        const int expected =
            static_cast<int>(static_cast<unsigned char>(c_order[(f * 4 + i) * times + t])) - 128;
        EXPECT_EQ(from_c.at(f, i, t).real(), expected);
        EXPECT_EQ(from_fortran.at(f, i, t).real(), expected);
      }
}

// By a pipe: as of a file, whole or cut; arrays whose time is not their slowest axis are refused.
TEST(NpyReader, InOrderIsAsOfAFile) {
  const Folder folder;
  auto random = tests::generator();
  struct Case {
    const char* type;
    const char* shape;
    bool fortran, complex;
    std::size_t channels, inputs, time_bytes;
  };
  for (const Case& one : {Case{"<c8", "(4, 6000)", true, true, 1, 4, 32},
                          Case{"<c8", "(6000,)", false, true, 1, 1, 8},
                          Case{"<f4", "(3, 2, 6000)", true, false, 3, 2, 24},
                          Case{"|u1", "(2, 3, 2, 6000)", true, false, 2, 6, 12}}) {
    SCOPED_TRACE(one.shape);
    const std::size_t bytes = 6000 * one.time_bytes;
    for (const std::size_t held : {bytes, bytes - 1 - random() % (bytes / 2)}) {
      const auto file = file_of(dictionary(one.type, one.shape, one.fortran), random_data(held));
      EXPECT_TRUE(comes_in_order(std::as_bytes(std::span(file)).first(1000)));
      const auto d = assumed(one.complex);
      const auto whole = open_bytes(folder, file, d);
      const auto stream = open_in_order(InputFile(tests::in_order("pipe", file, random)), d);
      EXPECT_EQ(stream->description().channels, one.channels);
      EXPECT_EQ(stream->description().inputs(), one.inputs);
      const tests::Stream a = tests::read_all(*whole, 1 + random() % 2000),
                          b = tests::read_all(*stream, 1 + random() % 2000);
      ASSERT_EQ(a.samples(), held / one.time_bytes);
      ASSERT_EQ(b.samples(), a.samples());
      for (std::size_t c = 0; c < one.channels; ++c)
        for (std::size_t i = 0; i < one.inputs; ++i)
          for (std::size_t t = 0; t < a.samples(); ++t) {
            const std::complex<double> x = a.at(c, i, t), y = b.at(c, i, t);
            ASSERT_EQ(std::memcmp(&x, &y, sizeof x), 0) << c << " " << i << " " << t;
          }
      EXPECT_EQ(stream->damage().lost_samples, whole->damage().lost_samples);
      EXPECT_EQ(stream->damage().trailing_bytes, whole->damage().trailing_bytes);
      EXPECT_EQ(stream->damage().any(), held < bytes);
    }
  }
  const auto rows = file_of(dictionary("<c8", "(4, 50)"), random_data(4 * 50 * 8));
  EXPECT_FALSE(comes_in_order(std::as_bytes(std::span(rows))));
  EXPECT_THROW(open_in_order(InputFile(tests::in_order("pipe", rows, random)), assumed()),
               core::Error);
  const auto half = file_of(dictionary("<c8", "(4, 50)", true), {});
  EXPECT_FALSE(comes_in_order(std::as_bytes(std::span(half)).first(40)));
}

TEST(NpyReader, VersionsQuotesAndBlanks) {
  const Folder folder;
  for (const int version : {1, 2, 3}) {
    const auto reader =
        open_bytes(folder,
                   file_of("{\"shape\": (2 , 5L),'fortran_order':False , 'descr' :\"<c8\"}   ",
                           random_data(80), version),
                   assumed());
    EXPECT_EQ(core::to_string(reader->description().format), "cf32");
    EXPECT_EQ(reader->total_samples(), 5u);
  }
}

TEST(NpyReader, WhatTheFileCannotSayIsAsked) {
  const Folder folder;
  core::VoltageDescription d = assumed();
  const auto bytes = file_of(dictionary("<c8", "(2, 5)"), random_data(80));
  d.rate_hz = {0, 1};
  EXPECT_THROW(open_bytes(folder, bytes, d), core::Error);
  EXPECT_THROW(open_bytes(folder, bytes, assumed(true, 3)), core::Error);
  d = assumed();
  d.antennas = 7;
  EXPECT_THROW(open_bytes(folder, bytes, d), core::Error);
  // Real integers where complex ones are expected.
  EXPECT_THROW(open_bytes(folder, file_of(dictionary("|i1", "(2, 5)"), random_data(10)), assumed()),
               core::Error);
  EXPECT_THROW(
      open_bytes(folder, file_of(dictionary("|i1", "(5, 2)", true), random_data(10)), assumed()),
      core::Error);
}

TEST(NpyReader, LyingHeadersAreRefused) {
  const Folder folder;
  const auto data = random_data(80);
  const std::vector<std::string> lies{
      "",
      "{",
      "{}",
      "()",
      dictionary(">c8", "(10,)"),
      dictionary("<f8", "(10,)"),
      dictionary("|O", "(10,)"),
      dictionary("<c8", "()"),
      dictionary("<c8", "(-1,)"),
      dictionary("<c8", "(10"),
      dictionary("<c8", "(1e3,)"),
      dictionary("<c8", "(0, 10)"),
      dictionary("<c8", "(1, 1, 1, 1, 10)"),
      dictionary("<c8", "(99999999999999999999,)"),
      dictionary("<c8", "(9223372036854775807, 1)"),
      dictionary("<c8", "(2, 9223372036854775807)"),
      dictionary("<c8", "(65536, 65536, 1)"),
      dictionary("<c8", "(1000, 1000)"),
      dictionary("<c8", "(4, 5)"),
      dictionary("<c8", "(10,)") + "x",
      "{'descr': [('re', '<f4'), ('im', '<f4')], 'fortran_order': False, 'shape': (10,), }",
      "{'descr': '<c8', 'fortran_order': Maybe, 'shape': (10,), }",
      "{'descr': '<c8', 'shape': (10,), }",
      "{'descr': '<c8', 'colour': 'red', }"};
  for (const std::string& lie : lies) {
    try {
      open_bytes(folder, file_of(lie, data), assumed());
      ADD_FAILURE() << lie << " was believed";
    } catch (const core::Error& error) {
      EXPECT_EQ(error.kind(), core::ErrorKind::format) << error.what();
      EXPECT_TRUE(std::string(error.what()).starts_with(folder / "x.npy")) << error.what();
    }
  }
  EXPECT_THROW(open_bytes(folder, file_of(dictionary("<c8", "(10,)"), data, 4), assumed()),
               core::Error);
  for (const std::size_t bytes : {0u, 3u, 8u, 9u, 30u}) {
    auto cut = file_of(dictionary("<c8", "(10,)"), data);
    cut.resize(bytes);
    EXPECT_THROW(open_bytes(folder, cut, assumed()), core::Error) << bytes;
  }
}

TEST(NpyReader, TruncatedArraysDeliverWhatIsThere) {
  const Folder folder;
  // One row: the stream ends early.
  auto reader = open_bytes(folder, file_of(dictionary("<c8", "(20,)"), random_data(83)), assumed());
  EXPECT_EQ(reader->total_samples(), 10u);
  EXPECT_EQ(reader->damage().trailing_bytes, 3u);
  EXPECT_EQ(reader->damage().lost_samples, 10u);
  // Time slowest, two inputs.
  reader =
      open_bytes(folder, file_of(dictionary("<c8", "(2, 20)", true), random_data(83)), assumed());
  EXPECT_EQ(reader->total_samples(), 5u);
  EXPECT_EQ(reader->damage().lost_samples, 30u);
  // Several rows: the last one's end is invalid.
  reader =
      open_bytes(folder, file_of(dictionary("<c8", "(2, 8)"), random_data(64 + 43)), assumed());
  const tests::Stream stream = tests::read_all(*reader, 3);
  ASSERT_EQ(stream.samples(), 8u);
  for (std::size_t t = 0; t < 8; ++t) {
    EXPECT_TRUE(stream.valid(0, t));
    EXPECT_EQ(stream.valid(1, t), t < 5);
  }
  EXPECT_EQ(reader->damage().lost_samples, 3u);
  EXPECT_TRUE(reader->damage().any());
  // Bytes behind the array.
  reader = open_bytes(folder, file_of(dictionary("<c8", "(10,)"), random_data(81)), assumed());
  EXPECT_EQ(reader->total_samples(), 10u);
  EXPECT_EQ(reader->damage().trailing_bytes, 1u);
}

TEST(NpyReader, RandomDamageNeverCrashes) {
  const Folder folder;
  auto random = tests::generator();
  std::size_t opened = 0, refused = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    auto bytes = trial % 2 ? file_of(dictionary("|i1", "(2, 3, 10, 2)"), random_data(120))
                           : file_of(dictionary("<f4", "(3, 10)", true), random_data(120));
    bytes = tests::mutate(bytes, random);
    try {
      const auto reader = open_bytes(folder, bytes, assumed(trial % 2 == 1));
      core::RawBlock block;
      for (int k = 0; k < 3; ++k) reader->read(7, block);
      ++opened;
    } catch (const core::Error&) {
      ++refused;
    }
  }
  EXPECT_GT(opened, 50u);
  EXPECT_GT(refused, 50u);
}

TEST(NpyHeader, WhatIsWrittenIsReadAndAligned) {
  for (const std::vector<std::uint64_t>& shape :
       {std::vector<std::uint64_t>{}, {5}, {3, 4}, {1, 2, 3, 4}, {65536, 4096, 1'000'000'000}}) {
    const std::string text = format_header("<f4", shape);
    EXPECT_EQ(text.size() % 64, 0u);
    EXPECT_EQ(text.back(), '\n');
    const Header header = parse_header(std::as_bytes(std::span(text.data(), text.size())), "x");
    EXPECT_EQ(header.type, "<f4");
    EXPECT_FALSE(header.fortran_order);
    EXPECT_EQ(header.shape, shape);
    EXPECT_EQ(header.data_offset_bytes, text.size());
  }
  EXPECT_EQ(element_bytes("<c8"), 8u);
  EXPECT_EQ(element_bytes("|i1"), 1u);
  EXPECT_EQ(element_bytes("O"), 0u);
}

TEST(NpyRowsWriter, RowsOfMoreAndFewerTimesThanExpected) {
  const Folder folder;
  auto random = tests::generator();
  for (const core::SampleFormat& format : {core::kCf32, core::kCi8, core::kCi4})
    for (const std::uint64_t most : {100u, 60u, 61u, 59u, 7u, 0u}) {
      const std::size_t channels = 3, inputs = 5, times = 60;
      const std::size_t element = format.is_float() ? 8 : format.bits == 8 ? 2 : 1;
      const std::size_t row = times * element + 3, channel = row * inputs + 7;
      std::vector<std::byte> rows(channel * channels);
      for (std::byte& b : rows) b = static_cast<std::byte>(random() & 0x3f);
      const std::string path = folder / "x.npy";
      RowsWriter writer(path, format, channels, inputs, most, true);
      for (std::size_t done = 0; done < times;) {
        const std::size_t count = std::min<std::size_t>(1 + random() % 20, times - done);
        writer.write(rows.data() + done * element, channel, row, count);
        done += count;
      }
      EXPECT_EQ(writer.samples(), times);
      writer.finish();
      const auto reader = open(path, assumed());
      EXPECT_FALSE(reader->damage().any());
      EXPECT_EQ(reader->description().channels, channels);
      const tests::Stream stream = tests::read_all(*reader, 13);
      ASSERT_EQ(stream.samples(), times);
      for (std::size_t c = 0; c < channels; ++c)
        for (std::size_t i = 0; i < inputs; ++i)
          for (std::size_t t = 0; t < times; ++t) {
            const std::byte* sample = rows.data() + c * channel + i * row + t * element;
            std::complex<double> expected;
            if (format.is_float()) {
              expected = {core::decode_float(sample, 0), core::decode_float(sample, 32)};
            } else {
              expected = {double(core::decode_integer(sample, 0, format)),
                          double(core::decode_integer(sample, static_cast<std::size_t>(format.bits),
                                                      format))};
            }
            ASSERT_EQ(stream.at(c, i, t), expected);
          }
    }
}

// Rows of more than one piece, which overlap their new place.
TEST(NpyRowsWriter, LongRowsMoveApart) {
  const Folder folder;
  auto random = tests::generator();
  constexpr std::size_t kInputs = 3, kTimes = 400000, kRowBytes = kTimes * 8;
  std::vector<float> rows(kInputs * kTimes * 2);
  for (float& value : rows) value = static_cast<float>(random() & 0xffff);
  const std::string path = folder / "x.npy";
  RowsWriter writer(path, core::kCf32, 1, kInputs, kTimes - 1000, false);
  const auto* bytes = reinterpret_cast<const std::byte*>(rows.data());
  constexpr std::size_t kFirst = kTimes - 2000;
  writer.write(bytes, 0, kRowBytes, kFirst);
  writer.write(bytes + kFirst * 8, 0, kRowBytes, kTimes - kFirst);
  writer.finish();
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  ASSERT_EQ(text.size() % 64, rows.size() * 4 % 64);
  EXPECT_EQ(std::memcmp(text.data() + text.size() - rows.size() * 4, rows.data(), rows.size() * 4),
            0);
}

TEST(NpyRowsWriter, RefusesTooMuchAndLeavesNothingUnfinished) {
  const Folder folder;
  const std::string path = folder / "x.npy";
  EXPECT_THROW(RowsWriter(path, core::kI8, 1, 1, 10, false), core::Error);
  {
    RowsWriter writer(path, core::kCi8, 1, 1, 10, false);
    const std::vector<std::byte> row(22);
    writer.write(row.data(), 0, 22, 11);
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  // More than any disk holds.
  EXPECT_THROW(RowsWriter(path, core::kCf32, 65536, 4096, std::uint64_t{1} << 31, false),
               core::Error);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(NpyArrayWriter, WritesAWholeArrayOrNone) {
  const Folder folder;
  const std::string path = folder / "x.npy";
  const std::vector<float> values{1, 2, 3, 4, 5, 6};
  ArrayWriter writer(path, "<f4", {2, 3}, false);
  writer.write(std::as_bytes(std::span(values)).first(8));
  EXPECT_THROW(writer.finish(), core::Error);
  writer.write(std::as_bytes(std::span(values)).subspan(8));
  writer.finish();
  const auto reader = open(path, assumed(false));
  EXPECT_EQ(tests::read_all(*reader, 2).at(0, 1, 2).real(), 6);
  ReaderOptions options;
  options.assumed = assumed(false);
  EXPECT_EQ(open_voltages(path, options)->description().inputs(), 2u);
  EXPECT_THROW(ArrayWriter(path, "<f4", {2, 3}, false), core::Error);
}

}  // namespace
}  // namespace tautline::formats::npy

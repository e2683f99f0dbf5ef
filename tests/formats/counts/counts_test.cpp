// Readers of counts: shapes and types of arrays, raw files, counts that do not fit, files cut
// short.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <span>
#include <vector>

#include "tautline/core/error.h"
#include "tautline/formats/count_reader.h"
#include "tautline/formats/npy/npy.h"
#include "tests/support/error_of.h"
#include "tests/support/scratch.h"

namespace tautline::formats {
namespace {

using core::SampleType;

template <class Value>
std::string write_npy(const tests::ScratchFolder& scratch, const std::string& type,
                      const std::vector<std::uint64_t>& shape, const std::vector<Value>& values) {
  const std::string path = scratch / "counts.npy";
  npy::ArrayWriter writer(path, type, shape, true);
  writer.write(std::as_bytes(std::span(values)));
  writer.finish();
  return path;
}

template <class Count>
std::vector<Count> read_all(CountReader& reader, std::size_t rows_at_once = 3) {
  std::vector<Count> all, block(rows_at_once * reader.description().sensors);
  while (const std::size_t rows = reader.read(std::as_writable_bytes(std::span(block))))
    all.insert(all.end(), block.begin(),
               block.begin() + static_cast<std::ptrdiff_t>(rows * reader.description().sensors));
  return all;
}

TEST(Counts, ShapesOfArrays) {
  const tests::ScratchFolder scratch;
  std::vector<std::uint8_t> values(24);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::uint8_t>(i + 200);
  const auto one = open_counts(write_npy(scratch, "|u1", {24}, values), {});
  EXPECT_EQ(one->description().sensors, 1u);
  EXPECT_EQ(one->total_samples(), 24u);
  EXPECT_EQ(read_all<std::uint8_t>(*one), values);
  const auto two = open_counts(write_npy(scratch, "|u1", {4, 6}, values), {});
  EXPECT_EQ(two->description().sensors, 6u);
  EXPECT_EQ(two->description().rows, 0u);
  two->seek(3);
  EXPECT_EQ(read_all<std::uint8_t>(*two),
            std::vector<std::uint8_t>(values.begin() + 18, values.end()));
  const auto three = open_counts(write_npy(scratch, "|u1", {4, 2, 3}, values), {});
  EXPECT_EQ(three->description().sensors, 6u);
  EXPECT_EQ(three->description().rows, 2u);
  EXPECT_EQ(three->description().columns, 3u);
  EXPECT_THROW(open_counts(write_npy(scratch, "|u1", {2, 2, 2, 3}, values), {}), core::Error);
}

TEST(Counts, TypesAreConvertedWhenTheyFit) {
  const tests::ScratchFolder scratch;
  const auto wide = write_npy(scratch, "<i8", {2, 2}, std::vector<std::int64_t>{1, 70'000, 0, 255});
  const auto natural = open_counts(wide, {});
  EXPECT_EQ(natural->description().type, SampleType::u32);
  EXPECT_EQ(read_all<std::uint32_t>(*natural), (std::vector<std::uint32_t>{1, 70'000, 0, 255}));
  const auto narrow = open_counts(wide, {.dtype = SampleType::u16});
  const core::Error error = tests::error_of([&] { read_all<std::uint16_t>(*narrow); });
  EXPECT_NE(std::string(error.what()).find("time 0, sensor 1: 70000"), std::string::npos)
      << error.what();
  const auto negative =
      open_counts(write_npy(scratch, "|i1", {3}, std::vector<std::int8_t>{1, 127, -1}), {});
  EXPECT_THROW(read_all<std::uint8_t>(*negative), core::Error);
  const auto doubles = open_counts(write_npy(scratch, "<f8", {2}, std::vector<double>{1.5, 2}), {});
  EXPECT_EQ(doubles->description().type, SampleType::f32);
  EXPECT_EQ(read_all<float>(*doubles), (std::vector<float>{1.5, 2}));
}

template <class Value>
std::vector<Value> swapped(std::vector<Value> values) {
  for (Value& value : values) {
    const auto bytes = std::as_writable_bytes(std::span(&value, 1));
    std::reverse(bytes.begin(), bytes.end());
  }
  return values;
}

TEST(Counts, EitherByteOrder) {
  const tests::ScratchFolder scratch;
  const std::vector<std::uint16_t> words{1, 256, 513, 0, 65'535, 7};
  const auto as_they_are = open_counts(write_npy(scratch, ">u2", {3, 2}, swapped(words)), {});
  EXPECT_EQ(as_they_are->description().type, SampleType::u16);
  EXPECT_EQ(read_all<std::uint16_t>(*as_they_are, 2), words);
  as_they_are->seek(2);
  EXPECT_EQ(read_all<std::uint16_t>(*as_they_are), (std::vector<std::uint16_t>{65'535, 7}));
  const std::vector<std::int64_t> wide{1, 70'000, 0, 255};
  const auto converted = open_counts(write_npy(scratch, ">i8", {4}, swapped(wide)), {});
  EXPECT_EQ(read_all<std::uint32_t>(*converted), (std::vector<std::uint32_t>{1, 70'000, 0, 255}));
  const std::vector<float> floats{0, 1.5f, 3e30f, -1};
  const auto bad = open_counts(write_npy(scratch, ">f4", {4}, swapped(floats)), {});
  const core::Error error = tests::error_of([&] { read_all<float>(*bad); });
  EXPECT_NE(std::string(error.what()).find("time 3, sensor 0: -1"), std::string::npos)
      << error.what();
}

TEST(Counts, FloatsThatAreNoCountsAreRefused) {
  const tests::ScratchFolder scratch;
  const auto check = [](const std::string& path, const RawCounts& raw) {
    const auto reader = open_counts(path, raw);
    const core::Error error = tests::error_of([&] { read_all<float>(*reader); });
    EXPECT_NE(std::string(error.what()).find("time 4, sensor 1"), std::string::npos)
        << error.what();
  };
  for (const double bad : {std::nan(""), std::numeric_limits<double>::infinity(), -1., -1e-30}) {
    std::vector<double> doubles(12, 0.5);
    doubles[9] = bad;
    const std::vector<float> floats(doubles.begin(), doubles.end());
    check(write_npy(scratch, "<f8", {6, 2}, doubles), {});
    check(write_npy(scratch, "<f4", {6, 2}, floats), {});
    const std::string raw = scratch / "x.f32";
    std::ofstream(raw, std::ios::binary)
        .write(reinterpret_cast<const char*>(floats.data()), 4 * 12);
    check(raw, {.dtype = SampleType::f32, .sensors = 2});
  }
  std::vector<double> large(12, 0.5);
  large[9] = 1e39;  // beyond a float
  check(write_npy(scratch, "<f8", {6, 2}, large), {});
  std::vector<std::int8_t> negative(12, 1);
  negative[9] = -1;
  check(write_npy(scratch, "|i1", {6, 2}, negative), {.dtype = SampleType::f32});
}

TEST(Counts, RawFilesNeedTypeAndSensors) {
  const tests::ScratchFolder scratch;
  const std::string path = scratch / "counts.raw";
  const std::vector<std::uint16_t> values{9, 9, 9, 1, 2, 3, 4, 5, 6, 7};
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(values.data()), 20);
  EXPECT_THROW(open_counts(path, {}), core::Error);
  EXPECT_THROW(open_counts(path, {.dtype = SampleType::u16}), core::Error);
  EXPECT_THROW(open_counts(path, {.dtype = SampleType::u16, .sensors = 2, .header_bytes = 21}),
               core::Error);
  // 7 counts for 3 sensors: one is left over, counted and named.
  const auto reader =
      open_counts(path, {.dtype = SampleType::u16, .sensors = 3, .header_bytes = 6});
  EXPECT_EQ(reader->total_samples(), 2u);
  EXPECT_EQ(read_all<std::uint16_t>(*reader), (std::vector<std::uint16_t>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(reader->damage().trailing_bytes, 2u);
  EXPECT_EQ(reader->damage().messages.size(), 1u);
}

TEST(Counts, BytesBehindAnArrayAreCounted) {
  const tests::ScratchFolder scratch;
  const auto path = write_npy(scratch, "|u1", {10, 4}, std::vector<std::uint8_t>(40, 3));
  const auto array_bytes = std::filesystem::file_size(path);
  for (const std::size_t more : {1u, 4u, 9u}) {
    std::filesystem::resize_file(path, array_bytes + more);
    const auto reader = open_counts(path, {});
    EXPECT_EQ(reader->total_samples(), 10u);
    EXPECT_EQ(read_all<std::uint8_t>(*reader), std::vector<std::uint8_t>(40, 3));
    EXPECT_EQ(reader->damage().trailing_bytes, more);
    ASSERT_EQ(reader->damage().messages.size(), 1u);
    EXPECT_NE(reader->damage().messages[0].find("bytes behind the array"), std::string::npos);
  }
}

TEST(Counts, ArraysCutShort) {
  const tests::ScratchFolder scratch;
  const auto path = write_npy(scratch, "|u1", {10, 4}, std::vector<std::uint8_t>(40, 3));
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 6);
  const auto reader = open_counts(path, {});
  EXPECT_EQ(reader->total_samples(), 8u);
  EXPECT_EQ(read_all<std::uint8_t>(*reader), std::vector<std::uint8_t>(32, 3));
  EXPECT_EQ(reader->damage().lost_samples, 8u);
  EXPECT_TRUE(reader->damage().any());
}

}  // namespace
}  // namespace tautline::formats

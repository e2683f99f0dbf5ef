// Arrays read as files are: any strides, any order, short blocks, refusals.
#include "tautline/formats/memory/memory_readers.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "tautline/core/error.h"

namespace tautline::formats {
namespace {

std::mt19937 memory_random() {
  const auto seed = std::random_device{}();
  ::testing::Test::RecordProperty("seed", std::to_string(seed));
  return std::mt19937(seed);
}

template <class T>
std::vector<T> memory_values(std::size_t count) {
  auto random = memory_random();
  std::vector<T> values(count);
  for (T& value : values) value = static_cast<T>(random() % 200);
  return values;
}

std::span<std::byte> bytes_of_memory(std::vector<std::uint16_t>& values) {
  return std::as_writable_bytes(std::span(values));
}

TEST(MemoryCounts, AreReadInPiecesOfAnyStrides) {
  const auto values = memory_values<std::uint16_t>(100 * 12);
  // Every second sensor of every third time, sensors backwards.
  const core::SampleView<2> view(values.data() + 10, core::SampleType::u16, {33, 6}, {3 * 12, -2});
  const auto reader = open_memory_counts(view, {.format = "array", .bin_s = 1e-6});
  EXPECT_EQ(reader->description().sensors, 6u);
  EXPECT_EQ(reader->description().bin_s, 1e-6);
  ASSERT_EQ(reader->total_samples(), 33u);
  reader->seek(2);
  std::vector<std::uint16_t> got(5 * 6 + 3);  // with room for no whole sixth time
  std::size_t time = 2;
  while (const std::size_t times = reader->read(bytes_of_memory(got)))
    for (std::size_t t = 0; t < times; ++t, ++time)
      for (std::size_t s = 0; s < 6; ++s)
        ASSERT_EQ(got[t * 6 + s], values[10 + time * 36 - 2 * s]) << time << " " << s;
  EXPECT_EQ(time, 33u);
}

TEST(MemoryCounts, RefuseWhatIsNoCount) {
  for (const float bad :
       {-1.f, std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    const std::vector<float> values{1, 2, 3, 4, 5, bad, 7, 8};
    const auto reader =
        open_memory_counts(core::View<const float, 2>(values.data(), {4, 2}), {.format = "array"});
    std::vector<std::byte> got(16);
    EXPECT_EQ(reader->read(got), 2u);
    try {
      reader->read(got);
      FAIL() << bad;
    } catch (const core::Error& error) {
      EXPECT_EQ(error.field(), "array: time 2, sensor 1");
    }
  }
  const std::vector<std::int16_t> integers(8);
  EXPECT_THROW(open_memory_counts(core::View<const std::int16_t, 2>(integers.data(), {4, 2}), {}),
               core::Error);
  EXPECT_THROW(open_memory_counts(core::View<const float, 2>(nullptr, {4, 0}), {}), core::Error);
}

TEST(MemoryVoltages, AreReadInBlocksOfOneLayout) {
  // [channel][input][time], rows apart.
  const std::size_t channels = 2, inputs = 4, times = 37, row = 50;
  const auto values = memory_values<std::int8_t>(channels * inputs * row);
  const core::SampleView<3> view(
      values.data(), core::SampleType::i8, {channels, inputs, times},
      {static_cast<std::ptrdiff_t>(inputs * row), static_cast<std::ptrdiff_t>(row), 1});
  core::VoltageDescription description;
  description.polarisations = 2;
  description.rate_hz = {1000, 1};
  const auto reader = open_memory_voltages(view, description);
  EXPECT_EQ(reader->description().antennas, 2u);
  EXPECT_EQ(reader->description().channels, channels);
  EXPECT_EQ(reader->description().format, core::kI8);
  ASSERT_EQ(reader->total_samples(), times);
  reader->seek(3);
  core::RawBlock block;
  std::size_t at = 3;
  while (const std::size_t count = reader->read(10, block)) {
    EXPECT_EQ(block.layout, reader->layout(10));
    EXPECT_EQ(block.first_sample, at);
    ASSERT_EQ(block.samples, count);
    const core::RawLayout& where = block.layout;
    for (std::size_t c = 0; c < channels; ++c)
      for (std::size_t i = 0; i < inputs; ++i)
        for (std::size_t t = 0; t < count; ++t) {
          const std::size_t bit = where.offset_bits + c * where.channel_stride_bits +
                                  i / 2 * where.antenna_stride_bits +
                                  i % 2 * where.polarisation_stride_bits +
                                  t * where.time_stride_bits;
          ASSERT_EQ(std::to_integer<std::uint8_t>(block.bytes.data()[bit / 8]),
                    static_cast<std::uint8_t>(values[(c * inputs + i) * row + at + t]));
        }
    at += count;
  }
  EXPECT_EQ(at, times);
}

TEST(MemoryVoltages, RefuseWhatTheyCannotBe) {
  const std::vector<std::int8_t> values(60);
  core::VoltageDescription description;
  description.polarisations = 2;
  const auto open = [&](core::SampleType type, std::size_t inputs, std::ptrdiff_t stride) {
    open_memory_voltages({values.data(), type, {1, inputs, 5}, {30, 10, stride}}, description);
  };
  EXPECT_NO_THROW(open(core::SampleType::i8, 2, 1));
  EXPECT_THROW(open(core::SampleType::i8, 3, 1), core::Error);
  EXPECT_THROW(open(core::SampleType::i8, 0, 1), core::Error);
  EXPECT_THROW(open(core::SampleType::i8, 2, 2), core::Error);
  EXPECT_THROW(open(core::SampleType::u8, 2, 1), core::Error);
}

TEST(MemoryFilterbank, IsReadInAnyOrder) {
  const auto values = memory_values<std::uint16_t>(40 * 5);
  FilterbankDescription description;
  description.channel_mhz = {1500, 1490, 1480, 1470, 1460};
  description.rate_hz = {1000, 1};
  description.tsamp_s = 1e-3;
  const auto reader = open_memory_filterbank(
      core::View<const std::uint16_t, 2>(values.data(), {40, 5}), description);
  const FilterbankDescription& d = reader->description();
  EXPECT_EQ(d.channels, 5u);
  EXPECT_EQ(d.samples, 40u);
  EXPECT_EQ(d.delivered, Delivered::u16);
  EXPECT_EQ(d.fch1_mhz, 1500);
  EXPECT_EQ(d.foff_mhz, -10);
  EXPECT_TRUE(d.evenly_spaced);
  ASSERT_EQ(reader->segments().size(), 1u);
  EXPECT_EQ(reader->segments()[0].samples, 40u);
  std::vector<std::uint16_t> got(7 * 5);
  for (const std::uint64_t first : {36u, 0u, 17u, 39u, 40u, 41u}) {
    const std::size_t count = reader->read(first, 7, bytes_of_memory(got));
    ASSERT_EQ(count, first >= 40 ? 0 : std::min<std::uint64_t>(7, 40 - first));
    EXPECT_EQ(std::memcmp(got.data(), values.data() + first * 5, count * 10), 0);
  }
  EXPECT_THROW(reader->read(0, 8, bytes_of_memory(got)), core::Error);
  description.channel_mhz.pop_back();
  EXPECT_THROW(open_memory_filterbank(core::View<const std::uint16_t, 2>(values.data(), {40, 5}),
                                      description),
               core::Error);
}

template <class Stored, class Delivers>
void expect_filterbank(core::SampleType type, bool channels_first) {
  const std::size_t times = 201, channels = 7;
  auto random = memory_random();
  std::vector<Stored> values(times * channels);
  for (Stored& value : values) value = static_cast<Stored>(random());
  values[0] = std::numeric_limits<Stored>::lowest();
  const std::ptrdiff_t by_time = channels_first ? 1 : channels,
                       by_channel = channels_first ? times : 1;
  FilterbankDescription description;
  for (std::size_t c = 0; c < channels; ++c)
    description.channel_mhz.push_back(1500 - 10 * static_cast<double>(c));
  description.rate_hz = {1000, 1};
  const auto reader = open_memory_filterbank(
      core::SampleView<2>(values.data(), type, {times, channels}, {by_time, by_channel}),
      description);
  const double zero = reader->description().zero_level;
  EXPECT_EQ(zero, -static_cast<double>(std::numeric_limits<Stored>::lowest()));
  EXPECT_EQ(reader->description().is_signed, zero > 0);
  EXPECT_EQ(bytes_of(reader->description().delivered), sizeof(Delivers));
  std::vector<Delivers> got(150 * channels);
  for (const std::size_t first : {0u, 51u}) {
    ASSERT_EQ(reader->read(first, 150, std::as_writable_bytes(std::span(got))), 150u);
    for (std::size_t t = 0; t < 150; ++t)
      for (std::size_t c = 0; c < channels; ++c)
        ASSERT_EQ(got[t * channels + c] - zero,
                  values[(first + t) * static_cast<std::size_t>(by_time) +
                         c * static_cast<std::size_t>(by_channel)])
            << t << " " << c;
  }
}

TEST(MemoryFilterbank, SignedIntegersAndChannelsFirst) {
  for (const bool channels_first : {false, true}) {
    expect_filterbank<std::uint8_t, std::uint8_t>(core::SampleType::u8, channels_first);
    expect_filterbank<std::int8_t, std::uint8_t>(core::SampleType::i8, channels_first);
    expect_filterbank<std::uint16_t, std::uint16_t>(core::SampleType::u16, channels_first);
    expect_filterbank<std::int16_t, std::uint16_t>(core::SampleType::i16, channels_first);
  }
}

// As of a file of one or two bits, whose values a reader delivers in bytes, too.
TEST(MemoryFilterbank, ValuesOfFewBitsAreTold) {
  auto random = memory_random();
  const auto bits_of = [&]<class T>(T most, std::size_t place) {
    std::vector<T> values(1000 * 3);
    for (T& value : values) value = static_cast<T>(random() % 2);
    values[place] = most;
    FilterbankDescription description;
    description.channel_mhz = {1500, 1490, 1480};
    description.rate_hz = {1000, 1};
    return open_memory_filterbank(core::View<const T, 2>(values.data(), {1000, 3}), description)
        ->description()
        .bits;
  };
  for (const std::size_t place :
       {std::size_t{0}, std::size_t{2999}, std::size_t{random() % 3000}}) {
    for (const auto& [most, bits] : {std::pair{1, 1}, {2, 2}, {3, 2}, {4, 8}, {255, 8}})
      EXPECT_EQ(bits_of(static_cast<std::uint8_t>(most), place), bits) << most << " at " << place;
    EXPECT_EQ(bits_of(std::uint16_t{3}, place), 2);
    EXPECT_EQ(bits_of(std::uint16_t{4}, place), 16);
    EXPECT_EQ(bits_of(std::int8_t{1}, place), 8);  // 0 is in the middle
  }
}

// Memory that only the function can read: where the host cannot.
class ElsewhereMemory : public ::testing::Test {
 protected:
  CopyRows copies() {
    return [this](std::byte* to, std::size_t stride, const std::byte* from,
                  std::ptrdiff_t from_stride, std::size_t row_bytes, std::size_t rows) {
      for (std::size_t r = 0; r < rows; ++r)
        std::memcpy(to + r * stride, from + kAway + static_cast<std::ptrdiff_t>(r) * from_stride,
                    row_bytes);
    };
  }
  /// The address of the values elsewhere, which is none of the host's.
  template <class T>
  static const void* away(const std::vector<T>& values) {
    return reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(values.data()) - kAway);
  }
  static constexpr std::ptrdiff_t kAway = std::ptrdiff_t{1} << 46;
};

TEST_F(ElsewhereMemory, CountsAreNotLookedAt) {
  auto values = memory_values<float>(40 * 9);
  values[17] = std::numeric_limits<float>::quiet_NaN();
  const core::SampleView<2> view(away(values), core::SampleType::f32, {20, 7}, {18, 1});
  const auto reader = open_memory_counts(view, {.format = "array"}, copies());
  reader->seek(3);
  std::vector<float> got(11 * 7);
  std::size_t time = 3;
  while (const std::size_t times = reader->read(std::as_writable_bytes(std::span(got)))) {
    for (std::size_t t = 0; t < times; ++t, ++time)
      EXPECT_EQ(std::memcmp(got.data() + t * 7, values.data() + time * 18, 28), 0) << time;
  }
  EXPECT_EQ(time, 20u);
  EXPECT_THROW(
      open_memory_counts({away(values), core::SampleType::f32, {20, 4}, {18, 2}}, {}, copies()),
      core::Error);
}

TEST_F(ElsewhereMemory, VoltagesHaveTheirLayout) {
  const std::size_t channels = 3, inputs = 4, times = 37, row = 50;
  const auto values = memory_values<std::int16_t>(channels * inputs * row);
  const core::SampleView<3> view(away(values), core::SampleType::i16, {channels, inputs, times},
                                 {static_cast<std::ptrdiff_t>(inputs * row), row, 1});
  core::VoltageDescription description;
  description.polarisations = 2;
  description.rate_hz = {1000, 1};
  const auto reader = open_memory_voltages(view, description, copies());
  core::RawBlock block;
  for (std::size_t at = 0; const std::size_t count = reader->read(10, block); at += count)
    for (std::size_t c = 0; c < channels; ++c)
      for (std::size_t i = 0; i < inputs; ++i)
        EXPECT_EQ(std::memcmp(block.bytes.data() + (c * inputs + i) * 20,
                              values.data() + (c * inputs + i) * row + at, 2 * count),
                  0)
            << c << " " << i << " " << at;
}

TEST_F(ElsewhereMemory, SignedFilterbanksAreDeliveredAsTheyAre) {
  const auto values = memory_values<std::int8_t>(60 * 8);
  FilterbankDescription description;
  description.channel_mhz = {1500, 1490, 1480, 1470, 1460};
  description.rate_hz = {1000, 1};
  const auto open = [&](std::ptrdiff_t stride) {
    return open_memory_filterbank({away(values), core::SampleType::i8, {60, 5}, {8, stride}},
                                  description, copies());
  };
  const auto reader = open(1);
  EXPECT_TRUE(reader->description().is_signed);
  EXPECT_EQ(reader->description().zero_level, 0u);
  std::vector<std::int8_t> got(7 * 5);
  for (const std::uint64_t first : {56u, 0u, 17u, 60u}) {
    const std::size_t count = reader->read(first, 7, std::as_writable_bytes(std::span(got)));
    ASSERT_EQ(count, std::min<std::uint64_t>(7, 60 - first));
    for (std::size_t t = 0; t < count; ++t)
      EXPECT_EQ(std::memcmp(got.data() + t * 5, values.data() + (first + t) * 8, 5), 0);
  }
  EXPECT_THROW(open(2), core::Error);
}

}  // namespace
}  // namespace tautline::formats

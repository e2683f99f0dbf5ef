// Zeros of lost packets in channelized voltages, against the packets that were made so, in blocks of any length and
// layout.
#include "tautline/stream/zeroed_channels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>
#include <vector>

#include "tautline/stream/empty_channels.h"
#include "tests/support/seed.h"

namespace tautline::stream {
namespace {

/// Noise of ci8, [time][row], a row being channel x inputs + input.
struct Voltages {
  std::size_t channels, inputs, times;
  core::VoltageDescription description = {};
  std::vector<std::array<std::int8_t, 2>> values = {};
  std::array<std::size_t, 3> order = {0, 1,
                                      2};  // of time, channel, input in blocks, the slowest first

  std::size_t rows() const { return channels * inputs; }
  void fill(std::mt19937_64& random, double rms) {
    description.format = core::kCi8;
    description.antennas = inputs;
    description.channels = channels;
    description.rate_hz = {100'000, 1};
    std::normal_distribution<double> normal(0, rms);
    values.resize(times * rows());
    for (auto& value : values)
      for (auto& part : value)
        part = static_cast<std::int8_t>(std::clamp(std::round(normal(random)), -127.0, 127.0));
  }
  void lose(std::size_t input, std::size_t channel, std::size_t first, std::size_t samples) {
    for (std::size_t t = first; t < first + samples; ++t)
      values[t * rows() + channel * inputs + input] = {};
  }
  core::RawBlock block(std::size_t first, std::size_t samples) const {
    core::RawBlock out;
    const std::array<std::size_t, 3> extents{samples, channels, inputs};
    std::array<std::size_t, 3> strides{};
    std::size_t stride = 2;
    for (std::size_t k = 3; k-- > 0; stride *= extents[order[k]]) strides[order[k]] = stride;
    out.layout.format = description.format;
    out.layout.channels = channels;
    out.layout.antennas = inputs;
    out.layout.time_stride_bits = 8 * strides[0];
    out.layout.channel_stride_bits = 8 * strides[1];
    out.layout.antenna_stride_bits = out.layout.polarisation_stride_bits = 8 * strides[2];
    out.bytes.resize(stride);
    out.samples = samples;
    for (std::size_t t = 0; t < samples; ++t)
      for (std::size_t c = 0; c < channels; ++c)
        for (std::size_t i = 0; i < inputs; ++i)
          std::memcpy(out.bytes.data() + t * strides[0] + c * strides[1] + i * strides[2],
                      &values[(first + t) * rows() + c * inputs + i], 2);
    return out;
  }
  bool zero(std::size_t row, std::size_t t) const {
    return values[t * rows() + row] == std::array<std::int8_t, 2>{};
  }
};

/// [row][time] what a finder leaves; blocks of `least` to 3 `least` times.
core::ValidityMask found_in(const Voltages& v, std::mt19937_64& random, std::size_t least,
                            std::uint64_t* values = nullptr) {
  EmptyChannelFinder finder(v.description, 1 + random() % 8);
  core::ValidityMask all(v.rows(), v.times);
  std::vector<std::size_t> ends{0};
  while (ends.back() < v.times) {
    const std::size_t end = ends.back() + least + random() % (2 * least);
    ends.push_back(end + least > v.times ? v.times : end);
  }
  for (std::size_t k = 0; k + 1 < ends.size(); ++k) {
    const core::RawBlock now = v.block(ends[k], ends[k + 1] - ends[k]);
    core::RawBlock next;
    if (k + 2 < ends.size()) next = v.block(ends[k + 1], ends[k + 2] - ends[k + 1]);
    core::ValidityMask valid;
    finder.look(now, valid, next.samples > 0 ? &next : nullptr);
    for (std::size_t row = 0; row < valid.rows(); ++row)
      for (std::size_t t = 0; t < now.samples; ++t)
        if (!valid.valid(row, t)) all.set(row, ends[k] + t, 1, false);
  }
  if (values != nullptr) *values = finder.values();
  return all;
}

/// Expects that all of the lost samples are invalid, and others only where they are zero and beside them.
void expect_lost(const Voltages& v, const core::ValidityMask& found, core::ValidityMask lost) {
  EXPECT_GT(lost.rows() * lost.samples() - lost.count(), 0u);
  for (std::size_t row = 0; row < v.rows(); ++row)
    for (std::size_t t = 0; t < v.times; ++t) {
      if (!lost.valid(row, t)) {
        ASSERT_FALSE(found.valid(row, t)) << row << " " << t;
      } else if (!found.valid(row, t)) {
        ASSERT_TRUE(v.zero(row, t)) << row << " " << t;
        lost.set(row, t, 1, false);
      }
    }
}

struct Packet {
  std::size_t input, first, samples;
  std::vector<std::size_t> channels;
};

core::ValidityMask lose(Voltages& v, const std::vector<Packet>& packets) {
  core::ValidityMask lost(v.rows(), v.times);
  for (const Packet& packet : packets)
    for (const std::size_t c : packet.channels) {
      v.lose(packet.input, c, packet.first, packet.samples);
      lost.set(c * v.inputs + packet.input, packet.first, packet.samples, false);
    }
  return lost;
}

std::vector<std::size_t> channels_from(std::size_t first, std::size_t count) {
  std::vector<std::size_t> channels(count);
  std::iota(channels.begin(), channels.end(), first);
  return channels;
}

Voltages random_voltages(std::mt19937_64& random, double rms) {
  static constexpr std::size_t kChannels[] = {8, 33, 64, 100, 256};
  Voltages v{kChannels[random() % 5], 1 + random() % 4, 6'000};
  std::ranges::shuffle(v.order, random);
  v.fill(random, rms);
  return v;
}

std::size_t least_channels(const Voltages& v) {
  return std::max<std::size_t>(4, (v.channels + 15) / 16);
}

TEST(ZeroedChannels, OfAPartOfTheBandAreFoundFrom16SpectraOn) {
  auto random = tests::generator();
  for (int turn = 0; turn < 6; ++turn) {
    Voltages v = random_voltages(random, 2 + static_cast<double>(random() % 30));
    const std::size_t lengths[] = {16, 17 + random() % 40, 100, 256, 300};
    std::vector<Packet> packets;
    for (std::size_t at = 100; at + 400 < v.times; at += 500 + random() % 300) {
      const std::size_t count = least_channels(v) + random() % (v.channels - least_channels(v) + 1);
      packets.push_back({random() % v.inputs, at, lengths[random() % 5],
                         channels_from(random() % (v.channels - count + 1), count)});
    }
    const core::ValidityMask lost = lose(v, packets);
    std::uint64_t values = 0;
    const core::ValidityMask found = found_in(v, random, 448, &values);
    expect_lost(v, found, lost);
    const std::uint64_t missing = v.rows() * v.times - found.count();
    EXPECT_EQ(values, missing);
    EXPECT_LT(missing, 1.2 * static_cast<double>(v.rows() * v.times - lost.count()));
  }
}

TEST(ZeroedChannels, OfAllOfTheBandAreFoundFrom4SpectraOn) {
  auto random = tests::generator();
  for (int turn = 0; turn < 6; ++turn) {
    Voltages v = random_voltages(random, 4 + static_cast<double>(random() % 30));
    std::vector<Packet> packets;
    for (std::size_t at = 100; at + 400 < v.times; at += 200 + random() % 300)
      packets.push_back({random() % v.inputs, at, 4 + random() % 20, channels_from(0, v.channels)});
    const core::ValidityMask lost = lose(v, packets);
    expect_lost(v, found_in(v, random, 448), lost);
  }
}

// As packets of back ends that spread channels over their cards.
TEST(ZeroedChannels, OfEachSixteenthChannelAreFound) {
  auto random = tests::generator();
  for (int turn = 0; turn < 4; ++turn) {
    Voltages v{256, 2, 6'000};
    v.fill(random, 15);
    std::vector<Packet> packets;
    for (std::size_t at = 100; at + 400 < v.times; at += 500 + random() % 300) {
      Packet packet{random() % 2, at, 256 + random() % 100, {}};
      for (std::size_t c = random() % 16; c < 256; c += 16) packet.channels.push_back(c);
      packets.push_back(packet);
    }
    const core::ValidityMask lost = lose(v, packets);
    expect_lost(v, found_in(v, random, 448), lost);
  }
}

TEST(ZeroedChannels, DoNotDependOnBlocksAndLayouts) {
  auto random = tests::generator();
  std::uint64_t missing = 0;
  for (int turn = 0; turn < 6; ++turn) {
    Voltages v = random_voltages(random, 0.4 + static_cast<double>(random() % 40) / 10);
    std::vector<Packet> packets;
    for (int k = 0; k < 40; ++k) {
      const std::size_t count = 1 + random() % v.channels;
      packets.push_back({random() % v.inputs, random() % (v.times - 600), 1 + random() % 600,
                         channels_from(random() % (v.channels - count + 1), count)});
    }
    // Some more of a few samples each, at all ends of blocks.
    for (int k = 0; k < 200; ++k)
      packets.push_back({random() % v.inputs, random() % (v.times - 40), 1 + random() % 40,
                         channels_from(0, 1 + random() % v.channels)});
    lose(v, packets);
    const core::ValidityMask once = found_in(v, random, 448);
    missing += v.rows() * v.times - once.count();
    for (int again = 0; again < 3; ++again) {
      std::ranges::shuffle(v.order, random);
      const core::ValidityMask other = found_in(v, random, 448 + random() % 2000);
      for (std::size_t row = 0; row < v.rows(); ++row)
        for (std::size_t t = 0; t < v.times; ++t)
          ASSERT_EQ(once.valid(row, t), other.valid(row, t)) << turn << " " << row << " " << t;
    }
  }
  EXPECT_GT(missing, 10'000u);
}

// Levels of less than a step, and bands whose edges are zero most of the time.
TEST(ZeroedChannels, NoiseHasNone) {
  auto random = tests::generator();
  for (int turn = 0; turn < 12; ++turn) {
    Voltages v{turn % 2 == 0 ? std::size_t{64} : std::size_t{256}, 2, 6'000};
    v.fill(random, 0.3 + 0.2 * static_cast<double>(turn));
    // Channels by themselves are not zero for 400 spectra either.
    const std::size_t edge = turn < 4 ? 0 : random() % (v.channels / 3);
    std::bernoulli_distribution zero(0.4 + static_cast<double>(random() % 45) / 100);
    for (std::size_t t = 0; t < v.times; ++t)
      for (std::size_t c = 0; c < edge; ++c)
        for (std::size_t i = 0; i < v.inputs; ++i)
          if (zero(random)) v.lose(i, c, t, 1);
    EXPECT_EQ(found_in(v, random, 448).count(), v.rows() * v.times) << turn;
  }
}

TEST(ZeroedChannels, OfOtherFormats) {
  auto random = tests::generator();
  struct Case {
    core::SampleFormat format;
    std::uint32_t noise, zero, other_zero;
  };
  // A float's zero may have a sign.
  const Case cases[] = {{core::kCi4, 0xff, 0, 0},
                        {{4, true, core::Encoding::offset_binary}, 0xff, 0x88, 0x88},
                        {{8, true, core::Encoding::offset_binary}, 0xffff, 0x8080, 0x8080},
                        {core::kCi16, 0xffffffff, 0, 0},
                        {core::kCf16, 0x3bff3bff, 0, 0x80000000},
                        {core::kF32, 0x3fffffff, 0, 0x80000000}};
  for (const Case& one : cases) {
    core::VoltageDescription description;
    description.format = one.format;
    description.antennas = 2;
    description.channels = 64;
    description.rate_hz = {1000, 1};
    const auto bytes = static_cast<std::size_t>(one.format.bits_per_sample()) / 8;
    const std::size_t rows = 128, first = 500 + random() % 500, lost = 100;
    core::RawBlock block;
    block.samples = 2'000;
    block.layout.format = one.format;
    block.layout.channels = 64;
    block.layout.antennas = 2;
    block.layout.antenna_stride_bits = block.layout.polarisation_stride_bits = 8 * bytes;
    block.layout.channel_stride_bits = 16 * bytes;
    block.layout.time_stride_bits = 8 * bytes * rows;
    block.bytes.resize(block.samples * rows * bytes);
    for (std::size_t t = 0; t < block.samples; ++t)
      for (std::size_t row = 0; row < rows; ++row) {
        auto code = static_cast<std::uint32_t>(random()) & one.noise;
        if (row % 2 == 1 && row >= 32 && row < 64 && t >= first && t < first + lost)
          code = random() % 2 == 0 ? one.zero : one.other_zero;
        std::memcpy(block.bytes.data() + (t * rows + row) * bytes, &code, bytes);
      }
    EmptyChannelFinder finder(description);
    core::ValidityMask valid;
    finder.look(block, valid);
    ASSERT_EQ(valid.rows(), rows) << core::to_string(one.format);
    EXPECT_GE(finder.values(), 16 * lost) << core::to_string(one.format);
    EXPECT_LT(finder.values(), 17 * lost) << core::to_string(one.format);
    for (std::size_t row = 33; row < 64; row += 2)
      EXPECT_EQ(core::count_valid(valid.row(row), first, lost), 0u) << core::to_string(one.format);
  }
}

}  // namespace
}  // namespace tautline::stream

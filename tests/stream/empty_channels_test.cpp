// Channels that stop while they come, against a loop over every sample, in blocks of any length, layout and damage.
#include "tautline/stream/empty_channels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

#include "tests/support/seed.h"

namespace tautline::stream {
namespace {

constexpr std::size_t kChannelTimes = 8'000;

/// A stream of samples [time][row], a row being channel x inputs + input; `bits` a sample.
struct Channels {
  core::VoltageDescription description;
  std::size_t bits = 16;
  bool times_last = false;  // in blocks
  std::vector<std::uint32_t> codes;
  core::ValidityMask came;  // [row][time]
  bool by_channel = false;  // else rows of an input are alike

  std::size_t rows() const { return description.channels * description.inputs(); }
  std::uint32_t code(std::size_t t, std::size_t row) const { return codes[t * rows() + row]; }

  core::RawBlock block(std::size_t first, std::size_t samples, core::ValidityMask& valid) const {
    core::RawBlock out;
    core::RawLayout& layout = out.layout;
    const std::size_t inputs = description.inputs();
    layout.format = description.format;
    layout.channels = description.channels;
    layout.antennas = inputs;
    layout.offset_bits = 8;
    layout.time_stride_bits = times_last ? bits : bits * rows();
    layout.antenna_stride_bits = times_last ? bits * samples : bits;
    layout.channel_stride_bits = layout.antenna_stride_bits * inputs;
    layout.polarisation_stride_bits = layout.antenna_stride_bits;
    out.bytes.resize(1 + (bits * rows() * samples + 7) / 8);
    std::fill(out.bytes.begin(), out.bytes.end(), std::byte{0});
    out.samples = samples;
    valid = by_channel ? core::ValidityMask(rows(), samples) : core::ValidityMask();
    for (std::size_t row = 0; row < rows(); ++row)
      for (std::size_t t = 0; t < samples; ++t) {
        const std::size_t bit =
            layout.offset_bits + t * layout.time_stride_bits + row * layout.antenna_stride_bits;
        for (std::size_t k = 0; k < bits; ++k)
          if ((code(first + t, row) >> k & 1) != 0)
            out.bytes[(bit + k) / 8] |= std::byte{1} << (bit + k) % 8;
        if (came.valid(row, first + t)) continue;
        if (by_channel)
          valid.set(row, t, 1, false);
        else if (row < inputs)
          out.invalid.push_back({row, t, 1});
      }
    return out;
  }
};

Channels random_channels(std::minstd_rand& random) {
  static constexpr int kBits[] = {1, 2, 4, 8, 16};
  Channels c;
  const int bits = kBits[random() % 5];
  c.description.format = {bits, true, core::Encoding::twos_complement};
  c.description.antennas = 1 + random() % 3;
  c.description.channels = 2 + random() % 4;
  c.description.rate_hz = {1000, 1};
  c.bits = 2 * static_cast<std::size_t>(bits);
  c.times_last = c.bits >= 8 && random() % 2 == 0;
  c.by_channel = random() % 2 == 0;
  c.codes.resize(kChannelTimes * c.rows());
  std::mt19937 noise(static_cast<unsigned>(random()));
  for (auto& code : c.codes)
    code = static_cast<std::uint32_t>(noise() & ((std::uint64_t{1} << c.bits) - 1));
  c.came = core::ValidityMask(c.rows(), kChannelTimes);
  const std::size_t inputs = c.description.inputs();
  for (std::size_t row = 0; row < c.rows(); ++row) {
    for (std::size_t t = random() % 1000; t < kChannelTimes; t += 1 + random() % 2000) {
      const std::size_t end = std::min(kChannelTimes, t + 1 + random() % 1500);
      for (std::size_t k = t + 1; k < end; ++k)
        c.codes[k * c.rows() + row] = c.codes[t * c.rows() + row];
      t = end;
    }
    if (random() % 3 == 0) continue;  // nothing is lost
    for (std::size_t t = random() % 500; t < kChannelTimes; t += 20 + random() % 900)
      c.came.set(row, t, std::min<std::size_t>(kChannelTimes - t, 1 + random() % 30), false);
  }
  for (std::size_t row = inputs; !c.by_channel && row < c.rows(); ++row)
    for (std::size_t t = 0; t < kChannelTimes; ++t)
      c.came.set(row, t, 1, c.came.valid(row % inputs, t));
  return c;
}

TEST(EmptyChannels, AreWhatALoopOverEverySampleFindsInAnyBlocks) {
  auto seeds = tests::generator();
  std::uint64_t empty = 0;
  for (int turn = 0; turn < 60; ++turn) {
    std::minstd_rand random(static_cast<unsigned>(seeds()));
    const Channels c = random_channels(random);
    EmptyChannelFinder finder(c.description, 1 + random() % 8);
    const std::size_t left_out = random() % (2 * c.rows());  // often none
    if (left_out < c.rows())
      finder.leave_out(left_out / c.description.inputs(), left_out % c.description.inputs());
    // The definition: a sample is empty where as many valid ones before it have its value.
    core::ValidityMask expected = c.came;
    for (std::size_t row = 0; row < c.rows(); ++row) {
      if (row == left_out) continue;
      std::size_t equal = 0;
      std::uint32_t value = 0;
      for (std::size_t t = 0; t < kChannelTimes; ++t) {
        if (!c.came.valid(row, t)) continue;
        if (equal > 0 && c.code(t, row) == value) {
          if (equal >= finder.least_repeats()) expected.set(row, t, 1, false);
          ++equal;
        } else {
          value = c.code(t, row);
          equal = 1;
        }
      }
    }
    const std::size_t most = 1 + random() % 6000;
    for (std::size_t first = 0; first < kChannelTimes;) {
      const std::size_t count = std::min(kChannelTimes - first, 1 + random() % most);
      core::ValidityMask valid;
      const core::RawBlock block = c.block(first, count, valid);
      finder.look(block, valid);
      for (std::size_t row = 0; row < c.rows(); ++row)
        for (std::size_t t = 0; t < count; ++t) {
          const bool found = valid.rows() > 0 ? valid.valid(row, t) : c.came.valid(row, first + t);
          ASSERT_EQ(found, expected.valid(row, first + t))
              << turn << ": " << row << " " << first + t;
        }
      first += count;
    }
    EXPECT_EQ(finder.values(), c.came.count() - expected.count());
    std::uint64_t named = 0;
    for (const EmptyChannel& one : finder.found()) {
      const std::size_t row = one.channel * c.description.inputs() + one.input;
      EXPECT_EQ(one.samples, core::count_valid(c.came.row(row), 0, kChannelTimes) -
                                 core::count_valid(expected.row(row), 0, kChannelTimes));
      named += one.samples;
    }
    EXPECT_EQ(named, finder.values());
    empty += named;
  }
  EXPECT_GT(empty, 10'000u);
}

TEST(EmptyChannels, NoiseOfOneBitHasNone) {
  auto random = tests::generator();
  std::bernoulli_distribution one(0.95);
  Channels c;
  c.description.format = {8, true, core::Encoding::twos_complement};
  c.description.antennas = 2;
  c.description.channels = 16;
  c.description.rate_hz = {1'000'000, 1};
  c.codes.resize(kChannelTimes * c.rows());
  c.came = core::ValidityMask(c.rows(), kChannelTimes);
  EmptyChannelFinder finder(c.description);
  for (int turn = 0; turn < 20; ++turn) {
    for (auto& code : c.codes) code = one(random) ? 1 : 255;
    core::ValidityMask valid;
    finder.look(c.block(0, kChannelTimes, valid), valid);
  }
  EXPECT_EQ(finder.values(), 0u);
}

}  // namespace
}  // namespace tautline::stream

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

// The definition: the equal samples that follow each other are empty where they are more than `repeats`, as far as the
// blocks so far tell, and the next one where there is such.
core::ValidityMask changing_samples(const Channels& c, std::size_t left_out, std::size_t repeats,
                                    const std::vector<std::size_t>& ends, bool has_next) {
  core::ValidityMask changing = c.came;
  for (std::size_t row = 0; row < c.rows(); ++row) {
    std::vector<std::size_t> run;
    const auto end_run = [&] {
      for (const std::size_t t : run) {
        auto end = std::ranges::upper_bound(ends, t);
        if (has_next && end + 1 != ends.end()) ++end;
        const auto known = std::ranges::lower_bound(run, *end) - run.begin();
        if (static_cast<std::size_t>(known) > repeats) changing.set(row, t, 1, false);
      }
      run.clear();
    };
    for (std::size_t t = 0; t < kChannelTimes && row != left_out; ++t) {
      if (!c.came.valid(row, t)) continue;
      if (!run.empty() && c.code(t, row) != c.code(run.back(), row)) end_run();
      run.push_back(t);
    }
    end_run();
  }
  return changing;
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
    std::vector<std::size_t> ends;  // of blocks
    for (const std::size_t most = 1 + random() % 6000; ends.empty() || ends.back() < kChannelTimes;)
      ends.push_back(
          std::min(kChannelTimes, (ends.empty() ? 0 : ends.back()) + 1 + random() % most));
    // Packets of single channels come without the block that follows.
    const bool has_next = !c.by_channel && random() % 4 != 0;
    const core::ValidityMask expected =
        changing_samples(c, left_out, finder.least_repeats(), ends, has_next);
    for (std::size_t k = 0; k < ends.size(); ++k) {
      const std::size_t first = k > 0 ? ends[k - 1] : 0, count = ends[k] - first;
      core::ValidityMask valid, of_next;
      const core::RawBlock block = c.block(first, count, valid);
      core::RawBlock next;
      if (k + 1 < ends.size()) next = c.block(ends[k], ends[k + 1] - ends[k], of_next);
      finder.look(block, valid, has_next && next.samples > 0 ? &next : nullptr);
      for (std::size_t row = 0; row < c.rows(); ++row)
        for (std::size_t t = 0; t < count; ++t) {
          const bool found = valid.rows() > 0 ? valid.valid(row, t) : c.came.valid(row, first + t);
          ASSERT_EQ(found, expected.valid(row, first + t))
              << turn << ": " << row << " " << first + t;
        }
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

TEST(EmptyChannels, TurnWhereTheyStopAndComeBack) {
  auto seeds = tests::generator();
  for (int turn = 0; turn < 20; ++turn) {
    std::minstd_rand random(static_cast<unsigned>(seeds()));
    Channels c = random_channels(random);
    c.by_channel = false;
    c.came = core::ValidityMask(c.rows(), kChannelTimes);
    for (std::size_t k = 0; k < c.codes.size(); ++k)
      c.codes[k] = static_cast<std::uint32_t>(k / c.rows() % 2);
    const std::size_t row = random() % c.rows(), input = row % c.description.inputs(),
                      first = 100 + random() % 3000, end = first + 1000 + random() % 3000;
    for (std::size_t t = first; t < end; ++t) c.codes[t * c.rows() + row] = 1;
    const std::size_t begins = c.code(first - 1, row) == 1 ? first - 1 : first,
                      ends = c.code(end, row) == 1 ? end + 1 : end;
    EmptyChannelFinder finder(c.description);
    const std::size_t block = finder.least_repeats() + 1 + random() % 3000;
    for (std::size_t at = 0; at < kChannelTimes; at += block) {
      core::ValidityMask valid, of_next;
      const auto now = c.block(at, std::min(block, kChannelTimes - at), valid);
      const std::size_t after = std::min(kChannelTimes, at + block);
      const auto next = c.block(after, std::min(block, kChannelTimes - after), of_next);
      finder.look(now, valid, after < kChannelTimes ? &next : nullptr);
    }
    EXPECT_EQ(finder.values(), ends - begins);
    for (std::size_t t = 0; t < kChannelTimes; ++t)
      for (std::size_t i = 0; i < c.description.inputs(); ++i)
        ASSERT_EQ(finder.turned(i, t, 3), i == input && ((t + 3 >= begins && t <= begins + 3) ||
                                                         (t + 3 >= ends && t <= ends + 3)))
            << t;
  }
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

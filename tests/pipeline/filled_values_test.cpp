// Which values of a filterbank were filled: as a plain table has it, for as long as there is room.
#include "tautline/pipeline/filled_values.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "tests/support/seed.h"

namespace tautline::tests {
namespace {

using pipeline::FilledValues;

TEST(FilledValues, AreThoseOfATable) {
  auto random = generator();
  for (const std::size_t channels : {1u, 63u, 64u, 65u, 200u}) {
    constexpr std::uint64_t kSamples = 3000;
    std::vector<std::vector<bool>> table(kSamples, std::vector<bool>(channels, false));
    FilledValues values(channels);
    const auto fill = [&](std::uint64_t from, std::uint64_t to) {
      std::vector<std::size_t> some;
      for (std::uint64_t s = from; s < to; ++s) {
        if (random() % 5 == 0) {  // another loss
          some.clear();
          for (std::size_t c = 0; c < channels; ++c)
            if (random() % 4 == 0) some.push_back(c);
        }
        table[s].assign(channels, false);
        if (some.empty()) continue;
        for (const std::size_t c : some) table[s][c] = true;
        values.add(s, some);
      }
    };
    fill(0, kSamples / 2);
    const std::uint64_t back = random() % (kSamples / 2);  // a clock that was set back
    for (std::uint64_t s = back; s < kSamples / 2; ++s) table[s].assign(channels, false);
    values.add(back, std::vector<std::size_t>{channels - 1});
    table[back][channels - 1] = true;
    fill(back + 1, kSamples);
    for (int k = 0; k < 300; ++k) {
      const std::uint64_t width = 1 + random() % 40;
      std::vector<std::uint64_t> first(channels);
      std::uint64_t filled = 0;
      for (std::size_t c = 0; c < channels; ++c) {
        first[c] = random() % (kSamples + 50);
        for (std::uint64_t s = first[c]; s < std::min(first[c] + width, kSamples); ++s)
          filled += table[s][c] ? 1 : 0;
      }
      const auto fraction = values.fraction(first, width);
      ASSERT_TRUE(fraction);
      EXPECT_EQ(*fraction, static_cast<double>(filled) / static_cast<double>(channels * width));
    }
  }
}

// Runs that overlap, of one channel and of all, in any order.
TEST(FilledValues, OfRunsAreThoseOfATable) {
  auto random = generator();
  for (const std::size_t channels : {1u, 64u, 70u}) {
    constexpr std::uint64_t kSamples = 4000;
    std::vector<std::vector<bool>> table(kSamples, std::vector<bool>(channels, false));
    FilledValues values(channels);
    for (std::uint64_t block = 0; block < kSamples;) {
      const std::uint64_t end = std::min(kSamples, block + 1 + random() % 300);
      std::vector<pipeline::FilledRun> runs;
      for (std::size_t k = random() % 12; k > 0; --k) {
        const std::uint64_t first = block + random() % (end - block);
        const bool all = random() % 5 == 0;
        runs.push_back({all ? pipeline::FilledRun::kAllChannels : random() % channels, first,
                        first + 1 + random() % (end - first)});
        for (std::uint64_t s = first; s < runs.back().end; ++s)
          for (std::size_t c = 0; c < channels; ++c)
            if (all || c == runs.back().channel) table[s][c] = true;
      }
      values.add(runs);
      block = end;
    }
    for (std::uint64_t s = 0; s < kSamples; ++s) {
      std::uint64_t filled = 0, counted = 0;
      std::vector<std::uint64_t> first(channels, s);
      for (std::size_t c = 0; c < channels; ++c) {
        if (random() % 10 == 0) {
          first[c] = FilledValues::kLeftOut;
          continue;
        }
        ++counted;
        filled += table[s][c] ? 1 : 0;
      }
      EXPECT_EQ(values.fraction(first, 1),
                counted == 0 ? 0 : static_cast<double>(filled) / static_cast<double>(counted));
      const bool none =
          std::none_of(table[s].begin(), table[s].end(), [](bool one) { return one; });
      EXPECT_EQ(values.none(s, s + 1), none) << s;
    }
  }
}

// Losses that differ from sample to sample: of the oldest nothing is said.
TEST(FilledValues, AreForgottenWhereMemoryEnds) {
  constexpr std::uint64_t kSamples = FilledValues::kMostBytes / 16;
  FilledValues values(64);
  for (std::uint64_t s = 0; s < kSamples; ++s) values.add(s, std::vector<std::size_t>{s % 64});
  EXPECT_FALSE(values.fraction(std::vector<std::uint64_t>(64, 0), 64));
  const auto latest = values.fraction(std::vector<std::uint64_t>(64, kSamples - 64), 64);
  ASSERT_TRUE(latest);
  EXPECT_EQ(*latest, 1.0 / 64);
  std::vector<std::uint64_t> one_old(64, kSamples - 64);
  one_old[7] = 1000;
  EXPECT_FALSE(values.fraction(one_old, 64));
}

}  // namespace
}  // namespace tautline::tests

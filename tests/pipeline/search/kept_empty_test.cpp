// What is told of equal spectra and channels that are data because the configuration says so, spectrum by spectrum.
#include "tautline/pipeline/search/kept_empty.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

#include "tests/pipeline/search/noise_in_memory.h"
#include "tests/support/seed.h"

namespace tautline::pipeline {
namespace {

TEST(KeptEmpty, CountsStretchesAndChannelsInAnyBlocks) {
  auto random = tests::generator();
  for (const std::size_t channels :
       {std::size_t{2}, std::size_t{3}, std::size_t{19}, std::size_t{64}}) {
    constexpr std::uint64_t kTimes = 12'000;
    NoiseInMemory noise(channels, kTimes, random);
    const auto at = [&](std::uint64_t t) { return noise.bytes.data() + t * channels; };
    std::vector<SampleRange> stretches;
    for (std::uint64_t t = 100 + random() % 500; t + 2000 < kTimes; t += 700 + random() % 900) {
      // Of two channels 56 equal spectra are needed.
      const std::uint64_t count = 150 + random() % 300;
      for (std::uint64_t k = t; k < t + count; ++k) std::memset(at(k), 0, channels);
      stretches.push_back({t, count});
      for (std::uint64_t k = t + 500; k < t + 515; ++k) std::memcpy(at(k), at(t + 499), channels);
    }
    for (std::size_t still = 0; still + 1 < channels && still < 2; ++still)
      for (std::uint64_t t = 0; t < kTimes; ++t) at(t)[still] = std::byte{0};
    KeptEmpty kept(noise.description());
    for (std::uint64_t first = 0; first < kTimes;) {
      const std::uint64_t count = std::min<std::uint64_t>(1 + random() % 900, kTimes - first);
      kept.look(std::span(noise.bytes).subspan(first * channels, count * channels), first);
      first += count;
    }
    kept.end();
    std::uint64_t samples = 0;
    for (const SampleRange& one : stretches) samples += one.count;
    EXPECT_EQ(kept.stretches(), stretches.size()) << channels;
    EXPECT_EQ(kept.samples(), samples) << channels;
    ASSERT_EQ(kept.list().size(), KeptEmpty::kMost);
    for (std::size_t k = 0; k < KeptEmpty::kMost; ++k) EXPECT_EQ(kept.list()[k], stretches[k]);
    EXPECT_EQ(kept.channels(), std::min<std::size_t>(2, channels - 1)) << channels;
  }
}

}  // namespace
}  // namespace tautline::pipeline

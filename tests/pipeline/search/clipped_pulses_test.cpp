// Channels at the largest value of their type: for less than a second they are data, as a bright pulse that is clipped,
// for longer they have stopped.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>
#include <vector>

#include "tautline/pipeline/filterbank_stream.h"
#include "tautline/pipeline/search/empty_stretches.h"
#include "tests/pipeline/search/noise_in_memory.h"
#include "tests/support/seed.h"

namespace tautline::pipeline {
namespace {

constexpr std::size_t kClippedBand = 64;
constexpr std::uint64_t kClippedTimes = 12'000, kSecond = 1000;

// Values of few bits, of which no one has more than a third of the samples.
class ClippedNoise : public NoiseInMemory {
 public:
  ClippedNoise(int bits, std::mt19937_64& random)
      : NoiseInMemory(kClippedBand, kClippedTimes, random) {
    description_.bits = bits;
    if (bits == 8) return;
    for (std::byte& value : bytes) value = static_cast<std::byte>((random() >> 11) % (1u << bits));
  }
};

struct CleanedClips {
  std::vector<std::byte> bytes;
  std::uint64_t replaced = 0;
  std::vector<std::uint64_t> clipped;
  bool operator==(const CleanedClips&) const = default;
};

CleanedClips clean_clips(NoiseInMemory& noise, std::size_t most,
                         std::uint64_t range = kClippedTimes) {
  EmptyStretches empty(noise, {0, range}, {}, MissingTimes::noise);
  CleanedClips given{noise.bytes, 0, {}};
  for (std::uint64_t first = 0; first < kClippedTimes; first += most) {
    const auto count =
        static_cast<std::size_t>(std::min<std::uint64_t>(most, kClippedTimes - first));
    const auto piece = std::span(given.bytes).subspan(first * kClippedBand, count * kClippedBand);
    EXPECT_FALSE(empty.find(piece, first, 0).has_value()) << first;
    given.replaced += empty.mask_channels(piece, first, true);
  }
  given.clipped = empty.clipped();
  return given;
}

std::uint64_t sum_of_clips(const std::vector<std::uint64_t>& values) {
  return std::accumulate(values.begin(), values.end(), std::uint64_t{0});
}

// Puts a value into a channel at [first, first + samples), and another one on either side.
void put_value(NoiseInMemory& noise, std::size_t channel, std::uint64_t first,
               std::uint64_t samples, unsigned value) {
  const auto set = [&](std::uint64_t t, unsigned to) {
    noise.bytes[t * kClippedBand + channel] = static_cast<std::byte>(to);
  };
  for (std::uint64_t t = first; t < first + samples; ++t) set(t, value);
  if (first > 0) set(first - 1, value - 1);
  if (first + samples < kClippedTimes) set(first + samples, value - 1);
}

TEST(ClippedPulses, OfLessThanASecondAreData) {
  auto random = tests::generator();
  for (const int bits : {1, 2, 8}) {
    ClippedNoise noise(bits, random);
    const unsigned largest = (1u << bits) - 1;
    std::uint64_t samples = 0;
    const auto clip = [&](std::size_t channel, std::uint64_t first, std::uint64_t length) {
      put_value(noise, channel, first, length, largest);
      samples += length;
    };
    // A pulse that sweeps through the band, clipped for as long in each channel; and some channels by themselves.
    const std::uint64_t length = 70 + random() % 100, begin = 1000 + random() % 1000;
    for (std::size_t c = 0; c < kClippedBand; ++c) clip(c, begin + 40 * c, length);
    for (std::size_t c = 0; c < 3; ++c) clip(17 * c, 6000 + 1500 * c, 500 + random() % 500);
    clip(60, 0, 999);
    clip(61, kClippedTimes - 999, 999);
    const CleanedClips whole = clean_clips(noise, kClippedTimes);
    EXPECT_EQ(whole.replaced, 0u) << bits;
    EXPECT_TRUE(whole.bytes == noise.bytes) << bits;
    // Of the pulse as many as are found to repeat their value.
    EXPECT_LE(sum_of_clips(whole.clipped), samples) << bits;
    EXPECT_GE(sum_of_clips(whole.clipped), samples - length * kClippedBand) << bits;
    for (const std::size_t block : {std::size_t{1}, std::size_t{13}, 1 + random() % 3000})
      EXPECT_TRUE(clean_clips(noise, block) == whole) << bits << " bits, " << block;
  }
}

TEST(ClippedPulses, AreCountedWhereAFifthOfTheBandIsClipped) {
  auto random = tests::generator();
  ClippedNoise noise(8, random);
  const std::uint64_t begin = 1000 + random() % 5000;
  for (std::size_t c = 20; c < 40; ++c) put_value(noise, c, begin, 80, 255);
  EXPECT_EQ(sum_of_clips(clean_clips(noise, 1 + random() % 3000).clipped), 20u * 80);
}

TEST(ClippedPulses, OfASecondOrMoreAreStops) {
  auto random = tests::generator();
  for (const int bits : {1, 2, 8}) {
    ClippedNoise noise(bits, random);
    const unsigned largest = (1u << bits) - 1;
    const std::uint64_t begin = 4500 + random() % 1000, length = kSecond + random() % 3000;
    put_value(noise, 5, begin, length, largest);
    put_value(noise, 9, begin + 100, kSecond, largest);
    put_value(noise, 30, begin, 999, largest);
    const CleanedClips whole = clean_clips(noise, kClippedTimes);
    EXPECT_EQ(whole.replaced, length + kSecond) << bits;
    EXPECT_EQ(sum_of_clips(whole.clipped), 999u) << bits;
    for (const std::size_t block :
         {std::size_t{1}, std::size_t{13}, std::size_t{1000}, 1 + random() % 3000})
      EXPECT_TRUE(clean_clips(noise, block) == whole) << bits << " bits, " << block;
  }
}

// The other values are stops as before.
TEST(ClippedPulses, AreAtTheLargestValueAlone) {
  auto random = tests::generator();
  ClippedNoise noise(8, random);
  const std::uint64_t begin = 4500 + random() % 1000;
  put_value(noise, 5, begin, 500, 254);
  put_value(noise, 6, begin, 500, 1);
  const CleanedClips given = clean_clips(noise, 1 + random() % 3000);
  EXPECT_EQ(given.replaced, 1000u);
  EXPECT_EQ(sum_of_clips(given.clipped), 0u);
}

// Samples that have not come are not waited for.
TEST(ClippedPulses, LiveHaveTheFirstSecondOfALongerOne) {
  auto random = tests::generator();
  ClippedNoise noise(8, random);
  const std::uint64_t begin = 4500 + random() % 1000, length = 2 * kSecond + random() % 1000;
  put_value(noise, 5, begin, length, 255);
  put_value(noise, 9, begin, 700, 255);
  put_value(noise, 9, begin + 702, 700, 255);
  const CleanedClips whole = clean_clips(noise, kClippedTimes, kLiveSamples);
  EXPECT_EQ(whole.replaced, length - kSecond);
  EXPECT_EQ(sum_of_clips(whole.clipped), kSecond + 1400);
  for (std::uint64_t t = begin; t < begin + length; ++t)
    ASSERT_EQ(whole.bytes[t * kClippedBand + 5] == std::byte{255}, t < begin + kSecond) << t;
  for (const std::size_t block :
       {std::size_t{1}, std::size_t{13}, std::size_t{1000}, 1 + random() % 3000})
    EXPECT_TRUE(clean_clips(noise, block, kLiveSamples) == whole) << block;
}

}  // namespace
}  // namespace tautline::pipeline

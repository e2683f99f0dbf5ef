// Channels that are zero together for a few samples: where that is a loss, and what becomes of the data.
#include "tautline/pipeline/search/zero_stops.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "tautline/pipeline/search/empty_stretches.h"
#include "tests/pipeline/search/noise_in_memory.h"
#include "tests/support/seed.h"

namespace tautline::pipeline {
namespace {

constexpr std::size_t kZeroChannels = 256;
constexpr std::uint64_t kZeroTimes = 20'000;

// Noise of which a value is zero with probability `zero`.
class OftenZero final : public NoiseInMemory {
 public:
  OftenZero(double zero, std::mt19937_64& random)
      : NoiseInMemory(kZeroChannels, kZeroTimes, random) {
    for (std::byte& value : bytes)
      if (std::ldexp(static_cast<double>(random() >> 11), -53) < zero) value = {};
  }
  ZeroStops::Spectra spectra() const {
    return [this](std::ptrdiff_t t) {
      const bool there = t >= 0 && t < static_cast<std::ptrdiff_t>(kZeroTimes);
      return there ? bytes.data() + static_cast<std::size_t>(t) * kZeroChannels : nullptr;
    };
  }
};

struct CleanedZeros {
  std::vector<std::byte> bytes;
  std::uint64_t values = 0;
  bool operator==(const CleanedZeros&) const = default;
};

// In blocks of `most` spectra.
CleanedZeros clean_zeros(NoiseInMemory& noise, std::size_t most) {
  EmptyStretches empty(noise, {0, kZeroTimes}, {}, MissingTimes::noise);
  CleanedZeros given{noise.bytes, 0};
  for (std::uint64_t first = 0; first < kZeroTimes; first += most) {
    const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(most, kZeroTimes - first));
    const auto piece = std::span(given.bytes).subspan(first * kZeroChannels, count * kZeroChannels);
    EXPECT_FALSE(empty.find(piece, first, 0).has_value()) << first;
    given.values += empty.mask_channels(piece, first, true);
  }
  return given;
}

void write_zeros(NoiseInMemory& noise, std::uint64_t first, std::uint64_t samples,
                 std::size_t channel, std::size_t count) {
  for (std::uint64_t t = first; t < first + samples; ++t)
    std::memset(noise.bytes.data() + t * kZeroChannels + channel, 0, count);
}

TEST(ZeroStops, OfAFewChannelsAreFoundFromFiveSamplesOn) {
  auto random = tests::generator();
  NoiseInMemory noise(kZeroChannels, kZeroTimes, random);
  const std::vector<std::byte> before = noise.bytes;
  std::uint64_t values = 0;
  for (std::uint64_t t = random() % 100; t + 100 < kZeroTimes; t += 40 + random() % 200) {
    const std::uint64_t samples = 5 + random() % 11;
    const std::size_t channels = 8 + random() % 41;
    write_zeros(noise, t, samples, random() % (kZeroChannels - channels), channels);
    values += channels * samples;
  }
  const CleanedZeros whole = clean_zeros(noise, kZeroTimes);
  EXPECT_EQ(whole.values, values);
  for (std::size_t k = 0; k < before.size(); ++k)
    ASSERT_TRUE(noise.bytes[k] == before[k] ? whole.bytes[k] == before[k]
                                            : whole.bytes[k] > std::byte{40})
        << k;
  for (const std::size_t block : {std::size_t{1}, std::size_t{13}, 1 + random() % 3000})
    EXPECT_TRUE(clean_zeros(noise, block) == whole) << block;
}

// Two stops close to each other, for a quarter of the time.
TEST(ZeroStops, AreFoundWhereTheyAreMany) {
  auto random = tests::generator();
  NoiseInMemory noise(kZeroChannels, kZeroTimes, random);
  std::uint64_t values = 0;
  for (std::uint64_t t = random() % 100; t + 100 < kZeroTimes; t += 30 + random() % 20) {
    const std::uint64_t samples = 5 + random() % 11;
    write_zeros(noise, t, samples, 64, 32);
    values += 32 * samples;
  }
  const CleanedZeros whole = clean_zeros(noise, kZeroTimes);
  EXPECT_EQ(whole.values, values);
  EXPECT_TRUE(clean_zeros(noise, 1 + random() % 3000) == whole);
}

TEST(ZeroStops, NoiseHasNone) {
  auto random = tests::generator();
  for (const double zero : {0.003, 0.03, 0.1, 0.3, 0.5, 0.8, 0.95}) {
    const OftenZero noise(zero, random);
    ZeroStops stops(noise.description(), {});
    ASSERT_TRUE(stops.used());
    const auto spectra = noise.spectra();
    for (std::uint64_t t = 0; t < kZeroTimes; ++t)
      ASSERT_FALSE(stops.stop_at(spectra, static_cast<std::ptrdiff_t>(t))) << zero << ", " << t;
  }
}

TEST(ZeroStops, ChannelsThatAreMostlyZeroDoNotCount) {
  auto random = tests::generator();
  OftenZero noise(0, random);
  for (std::uint64_t t = 0; t < kZeroTimes; ++t)
    for (std::size_t c = 0; c < 80; ++c)
      if (random() % 10 != 0) noise.bytes[t * kZeroChannels + c] = {};
  ZeroStops stops(noise.description(), {});
  for (std::uint64_t t = 0; t <= 4096; t += ZeroStops::kEvery)
    stops.learn(noise.bytes.data() + t * kZeroChannels, t);
  const std::uint64_t first = 8000 + random() % 1000;
  write_zeros(noise, first, 6, 100, 12);
  const auto spectra = noise.spectra();
  EXPECT_FALSE(stops.stop_at(spectra, static_cast<std::ptrdiff_t>(first + 100)));
  ASSERT_TRUE(stops.stop_at(spectra, static_cast<std::ptrdiff_t>(first + 1)));
  for (std::size_t c = 0; c < kZeroChannels; ++c)
    EXPECT_EQ(stops.stopped()[c], c >= 100 && c < 112 ? 1 : 0) << c;
}

TEST(ZeroStops, AreOfManyChannelsOfEightBitsOrMore) {
  auto random = tests::generator();
  for (const std::size_t channels : {63u, 64u, 1024u})
    for (const int bits : {1, 2, 4, 8}) {
      NoiseInMemory noise(channels, 10, random);
      formats::FilterbankDescription band = noise.description();
      band.bits = bits;
      EXPECT_EQ(ZeroStops(band, {}).used(), channels >= 64 && bits == 8);
    }
}

}  // namespace
}  // namespace tautline::pipeline

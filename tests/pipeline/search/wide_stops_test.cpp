// A wide part of the band stops for few samples: the rule by its formula, and what becomes of the data.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "tautline/core/constant_run.h"
#include "tautline/pipeline/search/common_stops.h"
#include "tautline/pipeline/search/empty_rule.h"
#include "tautline/pipeline/search/empty_stretches.h"
#include "tests/pipeline/search/noise_in_memory.h"
#include "tests/support/seed.h"

namespace tautline::pipeline {
namespace {

using Bytes = std::vector<std::byte>;

constexpr std::size_t kWideChannels = 256;
constexpr std::uint64_t kWideTimes = 20'000;

// Of C channels k or more, each with probability q.
double chance_of_so_many(std::size_t channels, std::size_t least, double q) {
  const auto c = static_cast<double>(channels);
  double sum = 0;
  for (std::size_t k = least; k <= channels; ++k) {
    const auto n = static_cast<double>(k);
    sum += std::exp(std::lgamma(c + 1) - std::lgamma(n + 1) - std::lgamma(c - n + 1) +
                    n * std::log(q) + (c - n) * std::log1p(-q));
  }
  return sum;
}

struct Cleaned {
  Bytes bytes;
  std::uint64_t values = 0;
  bool operator==(const Cleaned&) const = default;
};

// In blocks of `most` spectra.
Cleaned clean(NoiseInMemory& noise, std::size_t most) {
  EmptyStretches empty(noise, {0, kWideTimes}, {}, MissingTimes::noise);
  Cleaned given{noise.bytes, 0};
  for (std::uint64_t first = 0; first < kWideTimes; first += most) {
    const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(most, kWideTimes - first));
    const auto piece = std::span(given.bytes).subspan(first * kWideChannels, count * kWideChannels);
    EXPECT_FALSE(empty.find(piece, first, 0).has_value()) << first;
    given.values += empty.mask_channels(piece, first, true);
  }
  return given;
}

// `count` channels from `channel` on have one value from `first` on; below 0: that of the spectrum before.
void stop(NoiseInMemory& noise, std::uint64_t first, std::uint64_t samples, std::size_t channel,
          std::size_t count, int value) {
  for (std::uint64_t t = first; t < first + samples; ++t) {
    std::byte* to = noise.bytes.data() + t * kWideChannels + channel;
    if (value >= 0)
      std::memset(to, value, count);
    else
      std::memcpy(to, to - kWideChannels, count);
  }
}

std::size_t longest_run(const Bytes& bytes) {
  std::size_t longest = 0;
  for (std::size_t c = 0; c < kWideChannels; ++c)
    for (std::size_t t = 0, end = 0; t < kWideTimes; t = end) {
      for (end = t;
           end < kWideTimes && bytes[end * kWideChannels + c] == bytes[t * kWideChannels + c];)
        ++end;
      longest = std::max(longest, end - t);
    }
  return longest;
}

TEST(WideStops, AreOfAFifthOfTheChannelsWhereNoiseHasNone) {
  std::size_t rules = 0;
  formats::FilterbankDescription band;
  for (const auto& [bits, u] : {std::pair{1, 0.95}, {2, 0.89}, {8, 0.79}, {16, 0.63}, {32, 0.63}})
    for (const std::size_t channels : {1u, 4u, 5u, 16u, 64u, 100u, 256u, 1024u, 4096u})
      for (const std::int64_t rate_hz : {1, 1000, 15'625, 1'000'000}) {
        band.channels = channels;
        band.bits = bits;
        band.rate_hz = core::make_rational(rate_hz, 1);
        const std::size_t counting = channels - channels / 10;
        const CommonRule rule = wide_rule(band, channels / 10),
                         common = common_rule(band, channels / 10);
        if (rule.repeats == 0) continue;
        ++rules;
        EXPECT_GE(5 * rule.channels, counting);
        EXPECT_GE(rule.channels, 4u);
        EXPECT_GE(rule.repeats, 12u);
        EXPECT_LT(rule.repeats + rule.every, empty_repeats_of_channel(band) + 1);
        if (common.repeats > 0) {
          EXPECT_LT(rule.repeats + rule.every, 2 * common.repeats);
        }
        EXPECT_LT(3600 * static_cast<double>(rate_hz) *
                      chance_of_so_many(counting, rule.channels,
                                        std::pow(u, static_cast<double>(rule.repeats + 1))),
                  1e-9);
      }
  EXPECT_GT(rules, 60u);
  band.channels = kWideChannels;
  band.bits = 8;
  band.rate_hz = core::make_rational(15'625, 1);
  const CommonRule usual = wide_rule(band, 0);
  EXPECT_EQ(usual.channels, 52u);
  EXPECT_EQ(usual.repeats + usual.every, 16u);  // samples of the shortest stop that is always found
}

TEST(WideStops, OfAQuarterOfTheBandAreFoundFromSixteenSamplesOn) {
  auto random = tests::generator();
  NoiseInMemory noise(kWideChannels, kWideTimes, random);
  const Bytes before = noise.bytes;
  std::uint64_t values = 0;
  for (std::uint64_t t = random() % 100; t + 100 < kWideTimes; t += 60 + random() % 200) {
    const std::uint64_t samples = 16 + random() % 32;
    stop(noise, t, samples, random() % 192, 64, 0);
    values += 64 * samples;
  }
  const Cleaned whole = clean(noise, kWideTimes);
  EXPECT_EQ(whole.values, values);
  for (std::size_t k = 0; k < before.size(); ++k)
    ASSERT_TRUE(noise.bytes[k] == before[k] ? whole.bytes[k] == before[k]
                                            : whole.bytes[k] > std::byte{40})
        << k;
  for (const std::size_t block : {std::size_t{1}, std::size_t{13}, 1 + random() % 3000})
    EXPECT_TRUE(clean(noise, block) == whole) << block;
}

// Of a channel in three or less the value is then above those before and behind; of more once in 1e10 times.
TEST(WideStops, AreFoundWhereTheLastValueIsRepeated) {
  auto random = tests::generator();
  NoiseInMemory noise(kWideChannels, kWideTimes, random);
  for (std::uint64_t t = 20 + random() % 100; t + 100 < kWideTimes; t += 60 + random() % 200)
    stop(noise, t, 16 + random() % 32, random() % 128, 128, -1);
  EXPECT_GE(longest_run(noise.bytes), 17u);
  const Cleaned whole = clean(noise, kWideTimes);
  EXPECT_LT(longest_run(whole.bytes), 13u);  // of noise that repeats a value in one of 21
  for (const std::size_t block : {std::size_t{1}, std::size_t{13}, 1 + random() % 3000})
    EXPECT_TRUE(clean(noise, block) == whole) << block;
}

// A bright pulse that is clipped, at the largest value or below; and spectra that stand fourteen times each.
TEST(WideStops, AreNoClippedPulses) {
  auto random = tests::generator();
  for (const int value : {255, 180}) {
    NoiseInMemory noise(kWideChannels, kWideTimes, random);
    for (std::uint64_t t = random() % 100; t + 100 < kWideTimes; t += 60 + random() % 200)
      stop(noise, t, 13 + random() % 12, random() % 64, 192, value);
    const Cleaned given = clean(noise, 1 + random() % 3000);
    EXPECT_EQ(given.values, 0u);
    EXPECT_TRUE(given.bytes == noise.bytes);
  }
  NoiseInMemory noise(kWideChannels, kWideTimes, random);
  for (std::byte& value : noise.bytes) value = static_cast<std::byte>(random());
  for (std::uint64_t t = 0; t < kWideTimes; ++t)
    if (t % 14 != 0) stop(noise, t, 1, 0, kWideChannels, -1);
  EXPECT_EQ(clean(noise, 1 + random() % 3000).values, 0u);
}

// The dullest that the rule is made for, in windows at any place.
TEST(WideStops, NoiseHasNone) {
  auto random = tests::generator();
  NoiseInMemory noise(kWideChannels, kWideTimes, random);
  formats::FilterbankDescription band = noise.description();
  for (const auto& [bits, common] : {std::pair{1, 0.95}, {2, 0.89}, {8, 0.79}}) {
    band.bits = bits;
    for (std::byte& value : noise.bytes)
      value = std::ldexp(static_cast<double>(random() >> 11), -53) < common ? std::byte{1}
                                                                            : std::byte{0};
    CommonStops stops(band, {}, wide_rule(band, 0));
    ASSERT_GT(stops.repeats(), 0u);
    const SpectraInTwoPlaces spectra{noise.bytes.data(), kWideTimes, nullptr, kWideChannels};
    for (std::size_t k = 0; k + stops.repeats() < kWideTimes; ++k)
      EXPECT_FALSE(stops.stop_at(spectra, k)) << bits << " bits, " << k;
  }
}

}  // namespace
}  // namespace tautline::pipeline

// Zeros of one or two spectra in a part of the channels: from how many channels on they are found, and what is taken for
// none.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>
#include <vector>

#include "tautline/pipeline/search/channel_substitutes.h"
#include "tautline/pipeline/search/empty_stretches.h"
#include "tautline/pipeline/search/zero_stops.h"
#include "tests/pipeline/search/noise_in_memory.h"
#include "tests/support/seed.h"

namespace tautline::pipeline {
namespace {

using Bytes = std::vector<std::byte>;

constexpr std::uint64_t kShortTimes = 6000;

// Noise of 8 or 16 bits, of a mean and an rms, and of noise that all channels have in common; values below 0 are 0.
class LowNoise final : public NoiseInMemory {
 public:
  LowNoise(int bits, std::size_t channels, double mean, double rms, double common,
           std::mt19937_64& random)
      : NoiseInMemory(channels, 0, random) {
    description_.bits = bits;
    description_.delivered = bits == 8 ? formats::Delivered::u8 : formats::Delivered::u16;
    description_.samples = most = kShortTimes;
    segments_ = {{0, kShortTimes, {}, 0}};
    bytes.resize(kShortTimes * spectrum());
    std::normal_distribution<double> normal(0, 1);
    std::vector<double> deviates(1 << 16);
    for (double& one : deviates) one = normal(random);
    for (std::uint64_t t = 0; t < kShortTimes; ++t) {
      const double level = mean + common * normal(random);
      for (std::size_t c = 0; c < channels; ++c)
        put(t, c, level + rms * deviates[random() % deviates.size()]);
    }
  }
  std::size_t channels() const { return description_.channels; }
  std::size_t value_bytes() const {
    return description_.delivered == formats::Delivered::u8 ? 1 : 2;
  }
  std::size_t spectrum() const { return channels() * value_bytes(); }
  void put(std::uint64_t time, std::size_t channel, double value) {
    std::byte* to = bytes.data() + time * spectrum() + channel * value_bytes();
    const double most_of_value = value_bytes() == 1 ? 255 : 65'535;
    const auto rounded =
        static_cast<std::uint16_t>(std::lround(std::clamp(value, 0.0, most_of_value)));
    std::memcpy(to, &rounded, value_bytes());
  }
  double get(const Bytes& from, std::uint64_t time, std::size_t channel) const {
    std::uint16_t value = 0;
    std::memcpy(&value, from.data() + time * spectrum() + channel * value_bytes(), value_bytes());
    return value;
  }
  std::size_t read(std::uint64_t first, std::size_t count, std::span<std::byte> to) override {
    if (first >= kShortTimes) return 0;
    count = static_cast<std::size_t>(std::min<std::uint64_t>(count, kShortTimes - first));
    std::memcpy(to.data(), bytes.data() + first * spectrum(), count * spectrum());
    return count;
  }
  ZeroStops::Spectra spectra() const {
    return [this](std::ptrdiff_t t) {
      const bool there = t >= 0 && t < static_cast<std::ptrdiff_t>(kShortTimes);
      return there ? bytes.data() + static_cast<std::size_t>(t) * spectrum() : nullptr;
    };
  }
};

struct CleanedShort {
  Bytes bytes;
  std::uint64_t values = 0, spectra = 0;
  bool operator==(const CleanedShort&) const = default;
};

// In blocks of `most` spectra.
CleanedShort clean(LowNoise& noise, std::size_t most,
                   const std::vector<std::size_t>& left_out = {}) {
  EmptyStretches empty(noise, {0, kShortTimes}, left_out, MissingTimes::noise);
  CleanedShort given{noise.bytes, 0, 0};
  std::uint64_t done = 0;
  for (std::uint64_t first = 0; first < kShortTimes; first += most) {
    const std::uint64_t end = std::min<std::uint64_t>(kShortTimes, first + most);
    const auto block =
        std::span(given.bytes).subspan(first * noise.spectrum(), (end - first) * noise.spectrum());
    while (done < end) {
      const auto stretch = empty.find(block, first, static_cast<std::size_t>(done - first));
      const std::uint64_t to = stretch ? stretch->first : end;
      given.values += empty.mask_channels(
          block.subspan((done - first) * noise.spectrum(), (to - done) * noise.spectrum()), done,
          !stretch);
      done = stretch ? stretch->first + stretch->count : end;
      given.spectra += stretch ? stretch->count : 0;
    }
  }
  return given;
}

// Of C channels k or more are zero in m given spectra with a probability below (C e q^m / k)^k, where q is as small as
// 31 spectra tell, or 30.
std::size_t least_channels(std::size_t channels, std::size_t spectra) {
  const auto chance = [&](std::size_t count) {
    const auto k = static_cast<double>(count);
    return k * (std::log(static_cast<double>(channels) / k) + 1 -
                static_cast<double>(spectra) * std::log(30 * k + 2));
  };
  std::size_t least = std::max<std::size_t>(4, channels / 16);
  while (chance(least) > std::log(1e-9 / (3600 * 1000.0))) ++least;
  return least;
}

std::vector<std::size_t> some_channels(std::size_t of, std::size_t count, bool together,
                                       std::mt19937_64& random) {
  std::vector<std::size_t> channels(of);
  std::iota(channels.begin(), channels.end(), std::size_t{0});
  if (together)
    std::rotate(channels.begin(),
                channels.begin() + static_cast<std::ptrdiff_t>(random() % (of - count + 1)),
                channels.end());
  else
    std::shuffle(channels.begin(), channels.end(), random);
  channels.resize(count);
  return channels;
}

// Begins of zeros that ZeroStops finds, at any spectrum.
std::size_t begins(const LowNoise& noise, ZeroStops& stops) {
  const auto spectra = noise.spectra();
  std::size_t count = 0;
  for (std::uint64_t t = 0; t < kShortTimes; ++t)
    count += stops.begins_at(spectra, static_cast<std::ptrdiff_t>(t)) ? 1 : 0;
  return count;
}
std::size_t begins(const LowNoise& noise) {
  ZeroStops stops(noise.description(), {});
  EXPECT_TRUE(stops.used());
  return begins(noise, stops);
}

// A mean of so many rms that a share q of the values is below a half.
double mean_of(double q, double rms) {
  double low = -10, high = 10;
  while (high - low > 1e-6) {
    const double middle = (low + high) / 2;
    (std::erfc(middle / std::sqrt(2.0)) / 2 > q ? low : high) = middle;
  }
  return low * rms + 0.5;
}

TEST(ShortZeros, OfOneOrTwoSpectraAreFoundFromTheLeastNumberOfChannelsOn) {
  auto random = tests::generator();
  for (const int bits : {8, 16})
    for (const std::size_t channels : {64u, 256u, 1024u}) {
      SCOPED_TRACE(testing::Message() << bits << " bits, " << channels << " channels");
      const double rms = bits == 8 ? 6 + static_cast<double>(random() % 10) : 600;
      LowNoise noise(bits, channels, bits == 8 ? 100 : 6000, rms, rms / 10, random);
      const Bytes before = noise.bytes;
      std::uint64_t values = 0;
      std::array<std::uint64_t, 4> phases{};
      for (std::uint64_t t = 16 + random() % 40; t + 17 < kShortTimes; t += 20 + random() % 40) {
        const std::size_t samples = 1 + random() % 2, least = least_channels(channels, samples);
        const std::size_t count =
            random() % 3 == 0 ? least : least + random() % (channels / 2 - least + 1);
        for (const std::size_t c : some_channels(channels, count, random() % 2 == 0, random))
          for (std::uint64_t at = t; at < t + samples; ++at) noise.put(at, c, 0);
        values += count * samples;
        ++phases[t % 4];
      }
      EXPECT_GT(*std::ranges::min_element(phases), 10u);
      const CleanedShort whole = clean(noise, kShortTimes);
      EXPECT_EQ(whole.values, values);
      EXPECT_EQ(whole.spectra, 0u);
      for (std::uint64_t t = 0; t < kShortTimes; ++t)
        for (std::size_t c = 0; c < channels; ++c) {
          const double was = noise.get(before, t, c), now = noise.get(whole.bytes, t, c);
          ASSERT_TRUE(noise.get(noise.bytes, t, c) == was ? now == was : now > rms)
              << t << ", " << c;
        }
      for (const std::size_t block : {std::size_t{1}, std::size_t{13}, 1 + random() % 3000})
        EXPECT_TRUE(clean(noise, block) == whole) << block;
    }
}

// Where zeros are ordinary values now and then, and noise is common to all channels: most are found, wherever blocks end.
TEST(ShortZeros, DoNotDependOnBlocksWhereOtherValuesAreZero) {
  auto random = tests::generator();
  for (const double q : {1e-3, 1e-2}) {
    LowNoise noise(8, 256, mean_of(q, 16), 16, 3, random);
    std::uint64_t values = 0;
    for (std::uint64_t t = random() % 40; t + 8 < kShortTimes; t += 40 + random() % 80) {
      const std::size_t samples = 1 + random() % 8, count = 100 + random() % 28;
      for (const std::size_t c : some_channels(256, count, random() % 2 == 0, random))
        for (std::uint64_t at = t; at < t + samples; ++at) noise.put(at, c, 0);
      values += count * samples;
    }
    const CleanedShort whole = clean(noise, kShortTimes);
    EXPECT_GT(whole.values, values / 2);
    for (const std::size_t block :
         {std::size_t{1}, std::size_t{2}, std::size_t{13}, 1 + random() % 3000})
      EXPECT_TRUE(clean(noise, block) == whole) << block;
  }
}

// Part of the band after all of it, before it, and beside channels that stopped before.
TEST(ShortZeros, AreFoundBesideLossesOfTheWholeBand) {
  auto random = tests::generator();
  LowNoise noise(8, 256, 100, 10, 0, random);
  std::uint64_t values = 0, spectra = 0;
  for (std::uint64_t t = random() % 40; t + 12 < kShortTimes; t += 60 + random() % 40) {
    const std::size_t whole = random() % 3, after = random() % 3, before = random() % 3;
    const std::size_t count = 32 + random() % 32, other = 32 + random() % 32;
    for (std::size_t k = 0; k < before + whole + after; ++k)
      for (std::size_t c = 0; c < 256; ++c)
        if ((k >= before || c < count) && (k < before + whole || c >= 256 - other))
          noise.put(t + k, c, 0);
    values += before * count + after * other;
    spectra += whole;
  }
  const CleanedShort whole = clean(noise, kShortTimes);
  EXPECT_EQ(whole.values, values);
  EXPECT_EQ(whole.spectra, spectra);
  for (const std::size_t block : {std::size_t{1}, std::size_t{7}, 1 + random() % 3000})
    EXPECT_TRUE(clean(noise, block) == whole) << block;

  LowNoise stopping(8, 256, 100, 10, 0, random);
  for (std::uint64_t t = 1000; t < 2000; ++t)
    for (std::size_t c = 0; c < 64; ++c) stopping.put(t, c, 0);
  const std::uint64_t at = 1100 + random() % 800;
  for (std::size_t c = 64; c < 96; ++c) stopping.put(at, c, 0);
  EXPECT_EQ(clean(stopping, 1 + random() % 3000).values, 64'000u + 32);
}

// The values and the noise that take the place of others.
TEST(ShortZeros, AreNoSamplesOfAChannel) {
  auto random = tests::generator();
  LowNoise noise(8, 256, 100, 8, 0, random);
  for (std::uint64_t t = random() % 20; t + 4 < kShortTimes; t += 20 + random() % 20)
    for (std::size_t c = 0; c < 64; ++c)
      for (std::uint64_t at = t; at < t + 1 + t % 2; ++at) noise.put(at, c, 0);
  ChannelSubstitutes substitutes(noise.description(), {}, MissingTimes::noise);
  substitutes.read(noise, 0, kMeanSamples);
  substitutes.measure_all();
  Bytes drawn(kMeanSamples * 256);
  for (std::size_t c = 0; c < 64; ++c) {
    EXPECT_NEAR(std::to_integer<int>(substitutes.means()[c]), 100, 1) << c;
    substitutes.draw(drawn.data(), c, 0, kMeanSamples, 0);
    for (std::uint64_t t = 0; t < kMeanSamples; ++t) ASSERT_GT(drawn[t * 256 + c], std::byte{0});
  }
}

// At levels at which zeros are common; also with noise that all channels have in common, which makes many of them zero
// at once, and with bright pulses that are clipped.
TEST(ShortZeros, NoiseHasNone) {
  auto random = tests::generator();
  for (const std::size_t channels : {64u, 256u, 1024u})
    for (const double q : {1e-3, 3e-3, 0.01, 0.03, 0.1, 0.3})
      for (const double common : {0.0, 0.1, 0.3, 1.0}) {
        if (common == 1.0 && q > 0.05) continue;
        const double rms = random() % 2 == 0 ? 1.5 : 16;
        SCOPED_TRACE(testing::Message() << channels << " channels, q " << q << ", common " << common
                                        << ", rms " << rms);
        LowNoise noise(8, channels, mean_of(q, rms), rms, common * rms, random);
        EXPECT_EQ(begins(noise), 0u);
        if (common == 1.0) continue;
        for (std::uint64_t t = random() % 40; t + 20 < kShortTimes; t += 20 + random() % 60) {
          const std::size_t count = channels / 16 + random() % (channels - channels / 16);
          const std::uint64_t samples = 1 + random() % 10;
          for (const std::size_t c : some_channels(channels, count, random() % 2 == 0, random))
            for (std::uint64_t at = t; at < t + samples; ++at) noise.put(at, c, 255);
        }
        EXPECT_EQ(begins(noise), 0u);
      }
}

// A level that falls for a spectrum or two in all channels is none, however far it falls.
TEST(ShortZeros, LevelsThatFallInAllChannelsAreNone) {
  auto random = tests::generator();
  for (const std::size_t channels : {64u, 1024u})
    for (const double mean : {2.5, 4.0, 6.0, 10.0}) {
      LowNoise noise(8, channels, mean * 12, 12, 1, random);
      std::normal_distribution<double> normal(0, 12);
      std::size_t many = 0;
      for (std::uint64_t t = random() % 40; t + 20 < kShortTimes; t += 10 + random() % 60) {
        const double level = 12 * (-0.5 + static_cast<double>(random() % 250) / 100);
        for (std::uint64_t at = t; at < t + 1 + t % 2; ++at)
          for (std::size_t c = 0; c < channels; ++c) noise.put(at, c, level + normal(random));
        many += static_cast<std::size_t>(std::count(
                    noise.bytes.begin() + static_cast<std::ptrdiff_t>(t * channels),
                    noise.bytes.begin() + static_cast<std::ptrdiff_t>((t + 1) * channels),
                    std::byte{0})) >= channels / 16
                    ? 1
                    : 0;
      }
      EXPECT_GT(many, 30u);
      EXPECT_EQ(begins(noise), 0u) << channels << ", " << mean;
    }
}

// As of a file that was up-sampled: each stands for itself once.
TEST(ShortZeros, SpectraThatStandSeveralTimesEachAreNone) {
  auto random = tests::generator();
  for (const std::size_t channels : {64u, 256u})
    for (const double q : {1e-3, 0.01, 0.05, 0.1})
      for (const std::uint64_t times : {2u, 3u, 5u, 16u}) {
        LowNoise noise(8, channels, mean_of(q, 4), 4, 1, random);
        for (std::uint64_t t = 0; t < kShortTimes; ++t)
          if (t % times != 0)
            std::copy_n(noise.bytes.begin() + static_cast<std::ptrdiff_t>((t - 1) * channels),
                        channels, noise.bytes.begin() + static_cast<std::ptrdiff_t>(t * channels));
        EXPECT_EQ(begins(noise), 0u) << channels << ", " << q << ", " << times;
      }
}

// Then more zeros are needed for a look at the spectra beside. Channels that are always zero are added.
TEST(ShortZeros, AreLookedForWhereZerosAreMoreThanUsual) {
  auto random = tests::generator();
  for (const double q : {0.0, 0.1, 0.3}) {
    LowNoise noise(8, 1024, q == 0 ? 100 : mean_of(q, 4), 4, 0, random);
    for (std::uint64_t t = 0; t < kShortTimes; ++t)
      for (std::size_t c = 0; c < 30; ++c) noise.put(t, c, 0);
    ZeroStops stops(noise.description(), {});
    EXPECT_EQ(stops.least_of_begin(), 64u);
    for (std::uint64_t t = 0; t <= 4096; t += ZeroStops::kEvery)
      stops.learn(noise.bytes.data() + t * 1024, t);
    if (q == 0) {
      EXPECT_EQ(stops.least_of_begin(), 64u + 30);
      continue;
    }
    for (std::uint64_t t = 0; t < kShortTimes; ++t)
      ASSERT_LT(stops.count(noise.bytes.data() + t * 1024), stops.least_of_begin());
  }
}

}  // namespace
}  // namespace tautline::pipeline

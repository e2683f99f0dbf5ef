// Spectra that were lost, a few in a row: from how many on they are found, and what is taken for none.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <numeric>
#include <optional>
#include <random>
#include <vector>

#include "tautline/core/constant_run.h"
#include "tautline/core/integers.h"
#include "tautline/pipeline/search/empty_stretches.h"
#include "tautline/pipeline/search/gapless_reader.h"
#include "tests/pipeline/search/noise_in_memory.h"
#include "tests/support/seed.h"

namespace tautline::pipeline {
namespace {

// Noise of so many bits: dull, whose commonest value is as frequent as the rule's p (of an rms of 0.5 steps, 0.68), or
// of an rms of a few steps.
class NoiseOfBits final : public NoiseInMemory {
 public:
  NoiseOfBits(int bits, std::size_t channels, std::uint64_t times, bool dull,
              std::mt19937_64& random)
      : NoiseInMemory(channels, 0, random) {
    description_.bits = bits;
    description_.samples = most = times;
    segments_ = {{0, times, {}, 0}};
    bytes.resize(channels * times);
    std::vector<std::uint8_t> values(4096);
    const double top = std::exp2(bits) - 1;
    std::normal_distribution<double> normal(bits == 8 ? 100 : std::floor(top / 2),
                                            dull ? 0.5 : std::max(0.8, top / 10));
    for (std::uint8_t& value : values) {
      const double chance = std::ldexp(static_cast<double>(random() >> 11), -53);
      if (dull && bits <= 2)
        value = static_cast<std::uint8_t>(chance < (bits == 1 ? 0.9 : 0.8) ? 1 : 2 * (bits - 1));
      else if (bits == 1)
        value = chance < 0.5 ? 0 : 1;
      else
        value = static_cast<std::uint8_t>(std::clamp(std::round(normal(random)), 0.0, top));
    }
    for (std::byte& value : bytes) value = std::byte{values[random() % values.size()]};
  }
  std::size_t channels() const { return description_.channels; }
  // Spectra from `first` on.
  void hold(std::uint64_t first, std::uint64_t count, int value) {
    std::memset(bytes.data() + first * channels(), value, count * channels());
  }
  // The last spectrum before them again.
  void repeat(std::uint64_t first, std::uint64_t count) {
    for (std::uint64_t t = first; t < first + count; ++t)
      std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>((first - 1) * channels()), channels(),
                  bytes.begin() + static_cast<std::ptrdiff_t>(t * channels()));
  }
};

using Found = std::map<std::uint64_t, std::uint64_t>;  // first: samples

// In blocks of up to `most` spectra.
Found stretches_of(NoiseOfBits& noise, std::size_t most,
                   const std::vector<std::size_t>& left_out = {}) {
  const std::uint64_t times = noise.description().samples;
  EmptyStretches empty(noise, {0, times}, left_out);
  Found found;
  for (std::uint64_t first = 0, done = 0; first < times; first += most) {
    const std::uint64_t end = std::min<std::uint64_t>(times, first + most);
    const auto block =
        std::span(noise.bytes).subspan(first * noise.channels(), (end - first) * noise.channels());
    while (done < end) {
      const auto stretch = empty.find(block, first, static_cast<std::size_t>(done - first));
      if (!stretch) {
        done = end;
        break;
      }
      found[stretch->first] = stretch->count;
      done = stretch->first + stretch->count;
    }
  }
  return found;
}

// As docs/design/empty.md has it.
std::size_t least_repeats(int bits, std::size_t channels) {
  const double n = std::log(1e-9 / (3600 * 1000.0)) / std::log(bits == 1   ? 0.9
                                                               : bits == 2 ? 0.8
                                                                           : 0.7);
  return std::max(std::size_t{2},
                  core::divide_up(static_cast<std::size_t>(std::ceil(n)), channels));
}

constexpr std::size_t kChannels = 64;
constexpr std::uint64_t kTimes = 30'000;

using Bytes = std::vector<std::byte>;

Bytes read_pieces(CleanedReader& reader, std::uint64_t first, std::uint64_t count,
                  std::size_t piece) {
  Bytes bytes(count * kChannels);
  for (std::uint64_t done = 0; done < count;) {
    const auto most = static_cast<std::size_t>(std::min<std::uint64_t>(piece, count - done));
    const std::size_t got =
        reader.read(first + done, most, std::span(bytes).subspan(done * kChannels));
    if (got == 0) break;
    done += got;
  }
  return bytes;
}

// Stops of all channels, of half of them and of one, none of which is as long as a gap.
void stop_channels(NoiseInMemory& noise, std::mt19937_64& random) {
  const auto zero = [&](std::uint64_t first, std::uint64_t count, std::size_t channels) {
    for (std::uint64_t t = first; t < first + count; ++t)
      std::fill_n(noise.bytes.begin() + static_cast<std::ptrdiff_t>(t * kChannels), channels,
                  std::byte{0});
  };
  for (std::uint64_t t = random() % 300; t + 1000 < kTimes; t += 700 + random() % 300) {
    zero(t, 20 + random() % 100, kChannels);
    zero(t + 200, 75 + random() % 50, kChannels / 2);
    zero(t + 400, 125 + random() % 60, 1);
  }
}

}  // namespace

TEST(ShortLosses, NoiseHasNone) {
  auto random = tests::generator();
  for (const int bits : {1, 2, 4, 8})
    for (const std::size_t channels : {1u, 4u, 16u, 64u, 256u, 1024u})
      for (const bool dull : {true, false}) {
        NoiseOfBits noise(bits, channels, (std::size_t{1} << 22) / channels, dull, random);
        EXPECT_EQ(stretches_of(noise, 1000 + random() % 5000), Found())
            << bits << " bits, " << channels << " channels, dull " << dull;
      }
}

TEST(ShortLosses, AreFoundFromTheLeastNumberOn) {
  auto random = tests::generator();
  for (const int bits : {1, 2, 4, 8})
    for (const std::size_t channels : {16u, 64u, 256u, 1024u}) {
      // Of one bit so few channels are all zeros beside a hold now and then, which is then longer.
      if (bits == 1 && channels == 16) continue;
      SCOPED_TRACE(testing::Message() << bits << " bits, " << channels << " channels");
      const std::size_t repeats = least_repeats(bits, channels);
      // A value of zero is less than that before and behind in most channels: those in which it is not do not count.
      // Of one bit that is a quarter of them.
      const std::size_t lost = repeats + 1 + (bits == 8 ? 0 : repeats) + (bits == 1 ? 2 : 0);
      NoiseOfBits noise(bits, channels, 6000, false, random);
      Found expected;
      const auto lose = [&](std::uint64_t first, std::size_t count) {
        noise.hold(first, count, 0);
        expected[first] = count;
      };
      // With a spectrum on one side alone fewer channels count.
      const std::size_t at_end = bits == 8 ? lost : std::max<std::size_t>(lost, 17);
      if (random() % 2 == 0) lose(0, at_end);
      for (std::uint64_t t = 150; t + 500 < 6000; t += 200 + random() % 200) {
        lose(t, lost);
        // One too few, but for zeros of many channels.
        noise.hold(t + 100, repeats, 0);
        if (bits == 8 && channels >= 64) expected[t + 100] = repeats;
      }
      lose(6000 - at_end, at_end);
      for (const std::size_t block : {std::size_t{6000}, std::size_t{1}, 1 + random() % 700})
        EXPECT_EQ(stretches_of(noise, block), expected) << block;
    }
}

// One spectrum of zeros and two, also at the ends; one of 8 bits alone, of many channels, between data that are not.
TEST(ShortLosses, OfOneSpectrumAreFound) {
  auto random = tests::generator();
  for (const int bits : {1, 2, 4, 8})
    for (const std::size_t channels : {32u, 64u, 100u, 1024u}) {
      SCOPED_TRACE(testing::Message() << bits << " bits, " << channels << " channels");
      NoiseOfBits noise(bits, channels, 6000, false, random);
      Found expected;
      const auto lose = [&](std::uint64_t first, std::size_t count) {
        noise.hold(first, count, 0);
        if (bits == 8 && channels >= 64) expected[first] = count;
      };
      lose(0, 1);
      for (std::uint64_t t = 5 + random() % 40; t + 50 < 6000; t += 3 + random() % 40)
        lose(t, 1 + random() % 2);
      lose(5999, 1);
      for (const std::size_t block : {std::size_t{6000}, std::size_t{1}, 1 + random() % 700})
        EXPECT_EQ(stretches_of(noise, block), expected) << block;
      if (channels != 100) continue;
      EXPECT_EQ(stretches_of(noise, 6000, {0, 50, 99}), expected);
      // 63 channels are not enough, nor are data of which more than half are zeros.
      std::vector<std::size_t> left_out(37);
      std::iota(left_out.begin(), left_out.end(), random() % 60);
      EXPECT_EQ(stretches_of(noise, 6000, left_out), Found());
      for (std::size_t t = 0; t < 6000; ++t)
        std::fill_n(noise.bytes.begin() + static_cast<std::ptrdiff_t>(t * 100), 51, std::byte{0});
      EXPECT_EQ(stretches_of(noise, 6000), Found());
    }
}

// The means are not those of the lost ones.
TEST(CleanedReader, LeavesNothingOfSpectraThatWereLost) {
  auto random = tests::generator();
  NoiseInMemory noise(kChannels, kTimes, random);
  for (std::uint64_t t = random() % 5; t + 10 < kTimes; t += 2 + random() % 9)
    std::fill_n(noise.bytes.begin() + static_cast<std::ptrdiff_t>(t * kChannels), kChannels,
                std::byte{0});
  const Bytes before = noise.bytes;
  CleanedReader cleaned(noise, {0, kTimes}, {});
  const Bytes given = read_pieces(cleaned, 0, kTimes, 1 + random() % 4096);
  for (std::size_t k = 0; k < given.size(); ++k)
    ASSERT_TRUE(before[k] == std::byte{0} ? given[k] > std::byte{40} : given[k] == before[k]) << k;
}

// Two thirds of the channels or so count then.
TEST(ShortLosses, ThatRepeatTheLastSpectrumAreFound) {
  auto random = tests::generator();
  NoiseOfBits noise(8, 256, 6000, false, random);
  Found expected;
  for (std::uint64_t t = 20; t + 500 < 6000; t += 200 + random() % 200) {
    const std::uint64_t count = 2 + random() % 12;
    noise.repeat(t, count);
    expected[t - 1] = count + 1;
    noise.repeat(t + 100, 1);
  }
  EXPECT_EQ(stretches_of(noise, 1 + random() % 700), expected);
}

// An up-sampled file, or one of a spectrometer that dumps faster than it integrates.
TEST(ShortLosses, SpectraThatStandSeveralTimesEachAreNone) {
  auto random = tests::generator();
  for (const int bits : {2, 8})
    for (const std::size_t channels : {32u, 256u})
      for (const std::uint64_t times : {2u, 3u, 4u, 8u, 16u}) {
        SCOPED_TRACE(testing::Message()
                     << bits << " bits, " << channels << " channels, " << times << " times each");
        NoiseOfBits noise(bits, channels, 6000, false, random);
        for (std::uint64_t t = random() % times + 1; t < 6000; t += times)
          noise.repeat(t, std::min(times - 1, 6000 - t));
        const std::uint64_t first = 1000 + random() % 4000;
        noise.hold(first, 20, 0);
        for (const std::size_t block : {std::size_t{6000}, std::size_t{1}, 1 + random() % 700})
          EXPECT_EQ(stretches_of(noise, block), (Found{{first, 20}})) << block;
      }
}

// All channels at one value, at the largest code or below it, above those before and behind; not for longer than any
// pulse.
TEST(ShortLosses, ClippedPulsesAreNone) {
  auto random = tests::generator();
  for (const int bits : {1, 4, 8})
    for (const int below : {0, 3}) {
      if (below > 0 && bits < 8) continue;
      NoiseOfBits noise(bits, 1024, 6000, false, random);
      const int top = (1 << bits) - 1 - below;
      for (std::uint64_t t = random() % 2 * 30; t + 300 < 6000; t += 100 + random() % 100)
        noise.hold(t, 2 + random() % 15, top);
      noise.hold(6000 - 9, 9, top);
      for (const std::size_t block : {std::size_t{6000}, std::size_t{1}, 1 + random() % 700})
        EXPECT_EQ(stretches_of(noise, block), Found()) << block;
      noise.hold(5800, 17, top);
      EXPECT_EQ(stretches_of(noise, 1 + random() % 700), (Found{{5800, 17}}));
    }
}

// A recorder that holds most channels at one value for a while leaves ten that say whether data come.
TEST(ShortLosses, ChannelsThatDoNotChangeThenDoNotCount) {
  auto random = tests::generator();
  NoiseOfBits noise(8, 1024, 40'000, true, random);
  for (std::uint64_t t = 1000; t < 39'000; ++t)
    std::fill_n(noise.bytes.begin() + static_cast<std::ptrdiff_t>(t * 1024), 1014, std::byte{0});
  EXPECT_EQ(stretches_of(noise, 1 + random() % 5000), Found());
}

// A filterbank that is read again, in pieces and in any order.
TEST(CleanedReader, GivesTheSameInAnyOrderAndNothingThatWasLost) {
  auto random = tests::generator();
  NoiseInMemory noise(kChannels, kTimes, random);
  stop_channels(noise, random);
  // One or two spectra of a stop at its begin are too few to tell. The last channel is zero where all are.
  const auto is_lost = [&](std::uint64_t t) {
    return noise.bytes[t * kChannels + kChannels - 1] == std::byte{0};
  };
  SampleRange range{random() % 50, kTimes - 100};
  while (is_lost(range.first) && !is_lost(range.first + 2)) ++range.first;
  CleanedReader whole(noise, range, {});
  const Bytes expected = read_pieces(whole, range.first, range.count, 4096);
  EXPECT_EQ(std::count(noise.bytes.begin(), noise.bytes.end(), std::byte{0}) > 50'000, true);
  EXPECT_EQ(std::count(expected.begin(), expected.end(), std::byte{0}), 0);
  CleanedReader again(noise, range, {});
  for (int k = 0; k < 12; ++k) {
    const std::uint64_t from = random() % (range.count - 3000), count = 1 + random() % 3000;
    const Bytes given = read_pieces(again, range.first + from, count, 1 + random() % 2000);
    EXPECT_TRUE(std::equal(given.begin(), given.end(),
                           expected.begin() + static_cast<std::ptrdiff_t>(from * kChannels)))
        << "from " << from << ", " << count;
  }
  // Behind the range nothing is changed.
  Bytes behind(10 * kChannels);
  const std::uint64_t end = range.first + range.count;
  ASSERT_GT(again.read(end, 10, behind), 0u);
  EXPECT_TRUE(std::equal(behind.begin(), behind.end(),
                         noise.bytes.begin() + static_cast<std::ptrdiff_t>(end * kChannels)));
}

}  // namespace tautline::pipeline

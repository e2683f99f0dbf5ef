// Masked samples become their channel's mean, whatever the blocks.
#include "tautline/pipeline/search/mask_intervals.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <numeric>
#include <set>

#include "tautline/core/error.h"
#include "tests/support/seed.h"

namespace tautline::pipeline {
namespace {

constexpr std::size_t kMaskChannels = 6, kMaskTimes = 250;

// Samples in memory.
class MemoryReader final : public formats::FilterbankReader {
 public:
  MemoryReader(std::vector<std::uint8_t> samples, bool rising, int bits = 8,
               std::size_t channels = kMaskChannels)
      : samples_(std::move(samples)) {
    description_.bits = bits;
    description_.channels = channels;
    for (std::size_t c = 0; c < channels; ++c)
      description_.channel_mhz.push_back(1400 + static_cast<double>(rising ? c : channels - 1 - c));
    description_.fch1_mhz = description_.channel_mhz.front();
    description_.foff_mhz = rising ? 1 : -1;
    description_.tsamp_s = 1e-3;
    description_.rate_hz = core::make_rational(1000, 1);
    description_.samples = samples_.size() / channels;
  }
  std::size_t read(std::uint64_t first, std::size_t count, std::span<std::byte> to) override {
    const std::size_t channels = description_.channels;
    count = std::min<std::size_t>(count, description_.samples - first);
    std::memcpy(to.data(), samples_.data() + first * channels, count * channels);
    return count;
  }

 private:
  std::vector<std::uint8_t> samples_;
};

// Intervals of 100 times: the channel at 1401 MHz is zapped, 1403 masked in the second, all in the
// third.
formats::presto::Mask make_mask() {
  formats::presto::Mask mask;
  mask.interval_s = 0.1;
  mask.low_channel_mhz = 1400;
  mask.channel_width_mhz = 1;
  mask.channels = kMaskChannels;
  mask.intervals = 3;
  mask.samples_per_interval = 100;
  mask.zapped_channels = {1};
  mask.zapped_intervals = {2};
  mask.interval_channels = {{1}, {1, 3}, {0, 1, 2, 3, 4, 5}};
  return mask;
}

std::vector<std::uint8_t> masked_in_blocks(MaskIntervals& mask, std::vector<std::uint8_t> samples,
                                           std::size_t block) {
  for (std::size_t t = 0; t < kMaskTimes; t += block) {
    const std::size_t count = std::min(block, kMaskTimes - t);
    mask.apply(std::as_writable_bytes(
                   std::span(samples).subspan(t * kMaskChannels, count * kMaskChannels)),
               t, count);
  }
  return samples;
}

TEST(MaskIntervals, MaskedSamplesBecomeTheMeanOfTheIntervalBefore) {
  auto random = tests::generator();
  std::vector<std::uint8_t> samples(kMaskChannels * kMaskTimes);
  for (auto& sample : samples) sample = static_cast<std::uint8_t>(random());
  for (const bool rising : {true, false}) {
    MemoryReader reader(samples, rising);
    const auto channel = [&](std::size_t up) { return rising ? up : kMaskChannels - 1 - up; };
    const auto mean = [&](std::size_t c, std::size_t from, std::size_t to) {
      double sum = 0;
      for (std::size_t t = from; t < to; ++t) sum += samples[t * kMaskChannels + c];
      return static_cast<int>(std::lround(sum / static_cast<double>(to - from)));
    };
    for (const std::size_t block : {kMaskTimes, std::size_t{1}, std::size_t{37}}) {
      MaskIntervals mask(make_mask(), MissingTimes::mean, reader);
      EXPECT_EQ(mask.ignored_channels(), std::vector<std::size_t>{channel(1)});
      const auto masked = masked_in_blocks(mask, samples, block);
      for (std::size_t t = 0; t < kMaskTimes; ++t)
        for (std::size_t c = 0; c < kMaskChannels; ++c) {
          int expected = samples[t * kMaskChannels + c];
          if (t >= 100 && t < 200 && c == channel(3)) expected = mean(c, 0, 100);
          // The channel that was masked in the second interval still has the first one's mean.
          if (t >= 200 && c != channel(1))
            expected = c == channel(3) ? mean(c, 0, 100) : mean(c, 100, 200);
          if (c == channel(1)) continue;  // ignored by whoever sums
          ASSERT_EQ(masked[t * kMaskChannels + c], expected) << "time " << t << " channel " << c;
        }
      EXPECT_EQ(mask.masked(), 100u + 50u * 5);
    }
  }
}

// Of six channels one is more than a sixteenth; of two bits, so that no value is above 3.
TEST(MaskIntervals, SamplesOfTheIntervalBeforeMayTakeThePlaceOfMaskedOnes) {
  auto random = tests::generator();
  std::vector<std::uint8_t> samples(kMaskChannels * kMaskTimes);
  for (auto& sample : samples) sample = static_cast<std::uint8_t>(random() % 4);
  MemoryReader reader(samples, true, 2);
  const auto masked_in = [&](std::size_t block) {
    MaskIntervals mask(make_mask(), MissingTimes::noise, reader);
    return masked_in_blocks(mask, samples, block);
  };
  const auto masked = masked_in(kMaskTimes);
  EXPECT_EQ(masked_in(1), masked);
  EXPECT_EQ(masked_in(37), masked);
  double sum = 0, squares = 0;
  std::size_t count = 0, levels[4] = {}, of_one[4] = {};
  for (std::size_t t = 0; t < kMaskTimes; ++t)
    for (std::size_t c = 0; c < kMaskChannels; ++c) {
      const std::uint8_t value = masked[t * kMaskChannels + c];
      ASSERT_LE(value, 3);
      if (c == 1) continue;  // ignored by whoever sums
      if (t < 200) {
        if (t < 100 || c != 3) {
          ASSERT_EQ(value, samples[t * kMaskChannels + c]);
        } else {
          ++of_one[value];
        }
        continue;
      }
      ++levels[value];
      ++count;
      sum += value;
      squares += value * value;
    }
  ASSERT_EQ(count, 250u);
  const double mean = sum / 250, variance = squares / 250 - mean * mean;
  // Of the uniform levels; six standard errors.
  EXPECT_NEAR(mean, 1.5, 0.6);
  EXPECT_NEAR(variance, 1.25, 0.5);
  for (const std::size_t level : levels) EXPECT_GT(level, 0u);
  for (const std::size_t level : of_one) EXPECT_GT(level, 0u);
}

// 64 channels, of which 8 are masked in every interval and four more are no more than a sixteenth; five more are.
TEST(MaskIntervals, ChannelsMaskedInEveryIntervalHaveTheirMeans) {
  constexpr std::size_t kChannels = 64, kIntervals = 4;
  auto random = tests::generator();
  std::vector<std::uint8_t> samples(kChannels * kIntervals * 100);
  for (auto& sample : samples) sample = static_cast<std::uint8_t>(random());
  MemoryReader reader(samples, true, 8, kChannels);
  formats::presto::Mask file;
  file.interval_s = 0.1;
  file.low_channel_mhz = 1400;
  file.channel_width_mhz = 1;
  file.channels = kChannels;
  file.intervals = kIntervals;
  file.samples_per_interval = 100;
  const std::size_t masked[kIntervals] = {8, 12, 13, 64};
  for (const std::size_t count : masked) {
    std::vector<std::size_t> order(kChannels);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::shuffle(order.begin(), order.end(), random);
    order.resize(count);
    std::sort(order.begin(), order.end());
    file.interval_channels.push_back(order);
  }
  for (const MissingTimes times : {MissingTimes::noise, MissingTimes::mean}) {
    MaskIntervals mask(file, times, reader);
    EXPECT_TRUE(mask.ignored_channels().empty());
    std::vector<std::uint8_t> given = samples;
    mask.apply(std::as_writable_bytes(std::span(given)), 0, kIntervals * 100);
    for (std::size_t k = 0; k < kIntervals; ++k) {
      std::size_t constant = 0;
      for (const std::size_t c : file.interval_channels[k]) {
        std::set<std::uint8_t> values;
        for (std::size_t t = 100 * k; t < 100 * (k + 1); ++t)
          values.insert(given[t * kChannels + c]);
        constant += values.size() == 1 ? 1 : 0;
      }
      const bool noise = times == MissingTimes::noise && k >= 2;
      EXPECT_EQ(constant, noise ? masked[0] : masked[k]) << k;
    }
    EXPECT_EQ(mask.masked(), (8 + 12 + 13 + 64) * 100u);
  }
}

TEST(MaskIntervals, AMaskOfOtherChannelsIsRefused) {
  MemoryReader reader(std::vector<std::uint8_t>(kMaskChannels * kMaskTimes), true);
  auto mask = make_mask();
  mask.channels = 7;
  EXPECT_THROW(MaskIntervals(mask, MissingTimes::mean, reader), core::Error);
}

// An interval of which all channels are masked, behind one with an impulse.
TEST(MaskIntervals, NoiseThatChannelsHaveInCommonStays) {
  constexpr std::size_t kChannels = 64, kInterval = 4096;
  auto random = tests::generator();
  std::normal_distribution<double> normal;
  std::vector<std::uint8_t> samples(kChannels * 3 * kInterval);
  for (std::size_t t = 0; t < 3 * kInterval; ++t) {
    const double common = 3 * normal(random);
    for (std::size_t c = 0; c < kChannels; ++c)
      samples[t * kChannels + c] =
          static_cast<std::uint8_t>(std::lround(100 + common + 6 * normal(random)));
  }
  const std::size_t impulse = kInterval + random() % kInterval;
  for (std::size_t c = 0; c < kChannels; ++c) samples[impulse * kChannels + c] = 200;
  const auto deviation = [&](const std::vector<std::uint8_t>& of, std::size_t interval) {
    std::vector<double> sums;
    for (std::size_t t = interval * kInterval; t < (interval + 1) * kInterval; ++t)
      if (t != impulse)
        sums.push_back(
            std::accumulate(of.begin() + static_cast<std::ptrdiff_t>(t * kChannels),
                            of.begin() + static_cast<std::ptrdiff_t>((t + 1) * kChannels), 0.0));
    const double mean = std::accumulate(sums.begin(), sums.end(), 0.0) / kInterval;
    double squares = 0;
    for (const double sum : sums) squares += (sum - mean) * (sum - mean);
    return std::sqrt(squares / kInterval);
  };
  formats::presto::Mask mask;
  mask.interval_s = 4.096;
  mask.low_channel_mhz = 1400;
  mask.channel_width_mhz = 1;
  mask.channels = kChannels;
  mask.intervals = 3;
  mask.samples_per_interval = kInterval;
  mask.zapped_intervals = {2};
  mask.interval_channels = {{}, {}, {}};
  for (std::size_t c = 0; c < kChannels; ++c) mask.interval_channels[2].push_back(c);
  MemoryReader reader(samples, true, 8, kChannels);
  MaskIntervals intervals(mask, MissingTimes::noise, reader);
  std::vector<std::uint8_t> masked = samples;
  intervals.apply(std::as_writable_bytes(std::span(masked)), 0, 3 * kInterval);
  const double there = deviation(samples, 0);
  EXPECT_NEAR(there, kChannels * std::sqrt(9.0 + 36.0 / kChannels), 0.1 * there);
  // 4,096 values of 4,096, with an error of 1.6 %.
  EXPECT_NEAR(deviation(masked, 2), there, 0.15 * there);
}

}  // namespace
}  // namespace tautline::pipeline

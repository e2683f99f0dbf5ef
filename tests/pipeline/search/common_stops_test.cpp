// Channels that stop together: the rule by its formula, and the windows by plain loops.
#include "tautline/pipeline/search/common_stops.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <utility>
#include <vector>

#include "tautline/pipeline/search/empty_rule.h"
#include "tests/support/seed.h"

namespace tautline::pipeline {
namespace {

formats::FilterbankDescription band_of(std::size_t channels, int bits, std::int64_t rate_hz) {
  formats::FilterbankDescription band;
  band.channels = channels;
  band.bits = bits;
  band.delivered = bits <= 8    ? formats::Delivered::u8
                   : bits == 16 ? formats::Delivered::u16
                                : formats::Delivered::f32;
  band.rate_hz = core::make_rational(rate_hz, 1);
  return band;
}

// ln of 3600 R (C e p^n / k)^k.
double log_chance(double counting, double k, double repeats, double p, double rate_hz) {
  return k * (std::log(counting / k) + 1 + repeats * std::log(p)) + std::log(3600 * rate_hz);
}

TEST(CommonStops, AreOfASixteenthOfTheChannelsWhereNoiseHasNone) {
  std::size_t rules = 0;
  for (const auto& [bits, p] : {std::pair{1, 0.9}, {2, 0.8}, {8, 0.7}, {16, 0.5}, {32, 0.5}})
    for (const std::size_t channels : {1u, 4u, 5u, 16u, 64u, 100u, 256u, 1024u, 4096u})
      for (const std::int64_t rate_hz : {1, 1000, 15'625, 1'000'000}) {
        const auto band = band_of(channels, bits, rate_hz);
        const std::size_t left_out = channels / 10;
        const CommonRule rule = common_rule(band, left_out);
        if (rule.repeats == 0) continue;
        ++rules;
        EXPECT_GE(16 * rule.channels, channels - left_out);
        EXPECT_GE(rule.channels, 4u);
        EXPECT_LE(2 * rule.repeats, empty_repeats_of_channel(band));
        const auto chance = [&, p = p](std::size_t repeats) {
          return log_chance(static_cast<double>(channels - left_out),
                            static_cast<double>(rule.channels), static_cast<double>(repeats), p,
                            static_cast<double>(rate_hz));
        };
        EXPECT_LE(chance(rule.repeats), std::log(1e-9) + 1e-6);
        if (rule.repeats > 24) {
          EXPECT_GT(chance(rule.repeats - 1), std::log(1e-9));
        }
      }
  EXPECT_GT(rules, 60u);
  const CommonRule usual = common_rule(band_of(256, 8, 15'625), 0);
  EXPECT_EQ(usual.repeats, 24u);
  EXPECT_EQ(usual.channels, 16u);
  auto series = band_of(256, 8, 15'625);
  series.time_series = true;
  EXPECT_EQ(common_rule(series, 0).repeats, 0u);
  EXPECT_EQ(common_rule(band_of(3, 8, 15'625), 0).repeats, 0u);
}

TEST(CommonStops, AreWindowsInWhichChannelsDoNotChange) {
  auto random = tests::generator();
  for (const int bits : {8, 16, 32})
    for (const std::size_t channels : {40u, 129u, 300u}) {
      const auto band = band_of(channels, bits, 1000);
      const std::size_t bytes = formats::bytes_of(band.delivered);
      const std::size_t times = 400, spectrum = channels * bytes;
      std::vector<std::byte> data(times * spectrum);
      for (std::byte& one : data) one = static_cast<std::byte>(random() % 3);
      const std::vector<std::size_t> left_out{1, 17};
      const CommonRule rule = common_rule(band, left_out.size());
      CommonStops stops(band, left_out, rule);
      const std::size_t step = stops.repeats();
      ASSERT_EQ(step, rule.repeats);
      ASSERT_EQ(step, stops.every());
      ASSERT_GT(step, 0u);
      // About as many channels as the rule wants, at times without a change of one of them.
      bool first = true;
      for (std::size_t from = random() % 60; from + 2 * step < times; from += 3 * step) {
        const std::size_t some = first ? rule.channels + 2 : rule.channels - 2 + random() % 5;
        first = false;
        for (std::size_t k = 0; k < some; ++k) {
          const std::size_t c = (k * 7 + from) % channels;
          for (std::size_t t = from + 1; t < from + 2 * step - random() % 2; ++t)
            std::memcpy(&data[t * spectrum + c * bytes], &data[from * spectrum + c * bytes], bytes);
        }
      }
      const std::uint64_t position = random() % 100'000;
      const std::size_t split = random() % times;
      const std::vector<std::byte> more(data.begin() + static_cast<long>(split * spectrum),
                                        data.end());
      const SpectraInTwoPlaces spectra{data.data(), split, more.data(), spectrum};
      std::size_t found = 0, expected_windows = 0;
      for (std::size_t k = 0; k + step < times; ++k) {
        const bool begins = (position + k) % step == 0;
        EXPECT_EQ(stops.next_window(k, position) == k, begins);
        std::vector<std::uint8_t> constant(channels, 1);
        for (const std::size_t c : left_out) constant[c] = 0;
        std::size_t count = 0;
        for (std::size_t c = 0; c < channels; ++c) {
          for (std::size_t t = k + 1; t <= k + step; ++t)
            if (std::memcmp(&data[t * spectrum + c * bytes], &data[k * spectrum + c * bytes],
                            bytes) != 0)
              constant[c] = 0;
          count += constant[c];
        }
        expected_windows += count >= rule.channels ? 1 : 0;
        const bool stop = stops.stop_at(spectra, k);
        ASSERT_EQ(stop, count >= rule.channels) << k;
        if (!stop) continue;
        ++found;
        EXPECT_TRUE(std::ranges::equal(stops.stopped(), constant)) << k;
      }
      EXPECT_EQ(found, expected_windows);
      EXPECT_GT(found, 0u);
    }
}

TEST(CommonStops, FlagsAreFoundOneByOne) {
  auto random = tests::generator();
  for (const std::size_t size : {0u, 1u, 7u, 8u, 9u, 100u}) {
    std::vector<std::uint8_t> flags(size);
    for (auto& one : flags) one = random() % 9 == 0 ? 1 : 0;
    for (std::size_t c = 0; c <= size; ++c) {
      std::size_t expected = c;
      while (expected < size && flags[expected] == 0) ++expected;
      EXPECT_EQ(next_set(flags, c), expected);
    }
  }
}

}  // namespace
}  // namespace tautline::pipeline

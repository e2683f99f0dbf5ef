// Stops of channels that are long, however they come, and the parts of the band that they are.
#include "tautline/pipeline/search/long_stops.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "tests/support/seed.h"

namespace tautline::pipeline {
namespace {

using StopRun = std::tuple<std::size_t, std::uint64_t, std::uint64_t>;

std::vector<StopRun> sorted(const std::vector<FilledRun>& runs) {
  std::vector<StopRun> all;
  for (const FilledRun& one : runs) all.emplace_back(one.channel, one.first, one.end);
  std::ranges::sort(all);
  return all;
}

// Cut into blocks, and with times at which all channels stop in the middle of some.
TEST(LongStops, AreWholeHoweverTheyAreCut) {
  auto random = tests::generator();
  for (int time = 0; time < 50; ++time) {
    constexpr std::size_t kChannels = 12;
    const std::uint64_t block = 500 + random() % 4000;
    std::vector<StopRun> expected;
    std::vector<FilledRun> pieces;
    for (std::size_t c = 0; c < kChannels; ++c)
      for (std::uint64_t at = random() % 3000; at < 60'000;) {
        const std::uint64_t end = at + 1 + random() % (2 * LongStops::kLeast);
        if (end - at >= LongStops::kLeast) expected.emplace_back(c, at, end);
        for (std::uint64_t from = at, to = 0; from < end; from = to) {
          to = std::min(end, (from / block + 1) * block);
          pieces.push_back({c, from, to});
        }
        at = end + 1 + random() % 3000;
      }
    std::ranges::sort(pieces, {},
                      [](const FilledRun& one) { return std::tuple(one.first, one.channel); });
    LongStops stops(kChannels);
    for (std::size_t k = 0; k < pieces.size();) {
      const std::size_t count = std::min<std::size_t>(1 + random() % 5, pieces.size() - k);
      stops.add(std::span(pieces).subspan(k, count));
      k += count;
    }
    std::ranges::sort(expected);
    EXPECT_EQ(sorted(stops.take()), expected);
    EXPECT_TRUE(stops.take().empty());
  }
  LongStops stops(2);
  stops.add(std::vector<FilledRun>{{1, 100, 3000}});
  stops.add(std::vector<FilledRun>{{FilledRun::kAllChannels, 3000, 3050}});
  stops.add(std::vector<FilledRun>{{1, 3050, 5000}});
  EXPECT_EQ(sorted(stops.take()), (std::vector<StopRun>{{1, 100, 5000}}));
}

// Two parts of the band that stop at times of their own, and single channels at any time.
TEST(LongStops, OfAPartOfTheBandAreTogether) {
  auto random = tests::generator();
  constexpr std::uint64_t kLeast = 8000;
  for (int time = 0; time < 50; ++time) {
    const std::size_t low = 17 + random() % 80, high = 17 + random() % 80;
    const std::uint64_t first = 20'000 + random() % 1000, end = first + 2 * kLeast;
    std::vector<FilledRun> stops;
    const auto jitter = [&] { return random() % (kLeast / 4); };
    StoppedBand one{{}, UINT64_MAX, 0}, two = one;
    const auto stop = [&](StoppedBand& band, std::size_t c, std::uint64_t from, std::uint64_t to) {
      from += jitter(), to += jitter();
      stops.push_back({c, from, to});
      band.channels.push_back(c);
      band.first = std::min(band.first, from), band.end = std::max(band.end, to);
    };
    for (std::size_t c = 0; c < low; ++c) stop(one, c, first, end);
    for (std::size_t c = 256 - high; c < 256; ++c) stop(two, c, first, end + 5 * kLeast);
    for (std::size_t c = 100; c < 100 + 16; ++c)  // a sixteenth, and too short ones
      stops.push_back({c, first + 100 * kLeast, first + 102 * kLeast});
    for (std::size_t c = 0; c < 256; ++c)
      stops.push_back({c, 200 * kLeast, 201 * kLeast - 1 - random() % 100});
    std::shuffle(stops.begin(), stops.end(), random);
    auto bands = stopped_bands(stops, kLeast, 256);
    std::ranges::sort(bands, {}, &StoppedBand::end);
    ASSERT_EQ(bands.size(), 2u);
    for (std::size_t k = 0; k < 2; ++k) {
      const StoppedBand& expected = k == 0 ? one : two;
      EXPECT_EQ(bands[k].channels, expected.channels);
      EXPECT_EQ(bands[k].first, expected.first);
      EXPECT_EQ(bands[k].end, expected.end);
    }
  }
}

// Read again, ranges are the channels and some of those that are left out.
TEST(LongStops, HaveTheirChannelsAsRanges) {
  EXPECT_EQ(channel_ranges(std::vector<std::size_t>{0, 1, 2, 5, 7, 8}, {}), "0:2,5,7:8");
  const std::vector<std::size_t> out{3, 4, 9};
  EXPECT_EQ(channel_ranges(std::vector<std::size_t>{0, 1, 2, 5, 7, 8}, out), "0:5,7:8");
  auto random = tests::generator();
  for (int time = 0; time < 200; ++time) {
    std::vector<std::size_t> channels, left_out, read;
    for (std::size_t c = 0; c < 60; ++c) {
      const auto kind = random() % 4;
      if (kind < 2) channels.push_back(c);
      if (kind == 2) left_out.push_back(c);
    }
    std::istringstream text(channel_ranges(channels, left_out));
    for (std::string one; std::getline(text, one, ',');) {
      const std::size_t colon = one.find(':');
      const std::size_t from = std::stoul(one),
                        to = colon == std::string::npos ? from : std::stoul(one.substr(colon + 1));
      for (std::size_t c = from; c <= to; ++c) read.push_back(c);
    }
    std::erase_if(read, [&](std::size_t c) { return std::ranges::binary_search(left_out, c); });
    EXPECT_EQ(read, channels);
  }
}

}  // namespace
}  // namespace tautline::pipeline

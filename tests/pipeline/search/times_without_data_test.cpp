// Pieces of series are those whose samples need no time without data, sample by sample.
#include "tautline/pipeline/search/times_without_data.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "tests/support/seed.h"

namespace tautline::pipeline {
namespace {

std::vector<std::pair<std::uint64_t, std::uint64_t>> pairs_of(
    const std::vector<SampleRange>& ranges) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> pairs;
  for (const SampleRange& one : ranges) pairs.emplace_back(one.first, one.count);
  return pairs;
}

using Pairs = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

TEST(TimesWithoutData, SegmentsWithoutGapsAreThoseSampleBySample) {
  auto random = tests::generator();
  for (int time = 0; time < 500; ++time) {
    const std::uint64_t before = random() % 50;
    Pairs segments;
    std::vector<FilledRun> gaps;
    for (std::uint64_t at = random() % 20; at < 200; at += random() % 3 == 0 ? 0 : random() % 20) {
      const std::uint64_t end = at + 1 + random() % 60;
      segments.emplace_back(at, end);
      at = end;
    }
    for (std::uint64_t at = random() % 50; at < 300; at += 1 + random() % 50) {
      const std::uint64_t end = at + 1 + random() % 30;
      gaps.push_back({FilledRun::kAllChannels, at, end});
      at = end;
    }
    Pairs expected;
    for (const auto& [first, end] : segments) {
      bool open = false;
      for (std::uint64_t t = first; t < end; ++t) {
        bool data = true;
        for (const FilledRun& gap : gaps)
          data = data && (t + before < gap.first || t + before >= gap.end);
        if (data && !open) expected.emplace_back(t, t);
        if (data) expected.back().second = t + 1;
        open = data;
      }
    }
    EXPECT_EQ(without_gaps(segments, gaps, before), expected);
  }
}

TEST(TimesWithoutData, PiecesNeedNoneOfThem) {
  auto random = tests::generator();
  const auto below = [&](std::uint64_t limit) { return random() % limit; };
  for (int time = 0; time < 200; ++time) {
    TrialStretch trial;
    trial.first_sample = below(100);
    trial.max_delay = below(3) * below(20);
    trial.series.assign(1 + below(150), 0);
    std::vector<SampleRange> without(below(6));
    for (SampleRange& one : without) one = {below(300), 1 + below(30)};
    std::vector<bool> expected;
    for (std::uint64_t t = 0; t < trial.series.size(); ++t) {
      bool data = true;
      for (std::uint64_t at = trial.first_sample + t;
           at <= trial.first_sample + t + trial.max_delay; ++at)
        for (const SampleRange& one : without)
          data = data && (at < one.first || at >= one.first + one.count);
      expected.push_back(data);
    }
    std::vector<bool> got(trial.series.size(), false);
    std::size_t behind = 0;
    for (const auto piece : pieces_of_data(trial, without)) {
      ASSERT_FALSE(piece.empty());
      const auto first = static_cast<std::size_t>(piece.data() - trial.series.data());
      EXPECT_GE(first, behind);
      behind = first + piece.size();
      ASSERT_LE(behind, got.size());
      for (std::size_t t = first; t < behind; ++t) got[t] = true;
    }
    EXPECT_EQ(got, expected) << time;
  }
}

TEST(TimesWithoutData, EmptyStretchesAreThoseOfTheBeamThatOverlap) {
  EmptyFound found;
  found.list = {{0, 100, 50}, {1, 100, 50}, {0, 150, 50}, {0, 400, 10}};
  EXPECT_EQ(pairs_of(empty_times(found, 0, {120, 30})), (Pairs{{100, 50}}));
  EXPECT_EQ(pairs_of(empty_times(found, 0, {149, 2})), (Pairs{{100, 50}, {150, 50}}));
  EXPECT_EQ(pairs_of(empty_times(found, 1, {0, 1000})), (Pairs{{100, 50}}));
  EXPECT_TRUE(empty_times(found, 0, {200, 200}).empty());
  found.mostly = {{0, 250, 10}, {1, 260, 10}};
  EXPECT_EQ(pairs_of(empty_times(found, 0, {200, 200})), (Pairs{{250, 10}}));
}

// 4 channels, of which one is ignored: two of three are more than half. The last interval has no end.
TEST(TimesWithoutData, MaskedIntervalsAreThoseOfMoreThanHalfOfTheChannels) {
  formats::presto::Mask mask;
  mask.low_channel_mhz = 1000;
  mask.channel_width_mhz = 1;
  mask.channels = 4;
  mask.intervals = 5;
  mask.samples_per_interval = 100;
  mask.zapped_intervals = {1};
  mask.interval_channels = {{0}, {}, {1, 2}, {0, 1}, {1, 2, 3}};
  formats::FilterbankDescription description;
  description.channels = 4;
  description.fch1_mhz = 1000;
  description.foff_mhz = 1;
  description.channel_mhz = {1000, 1001, 1002, 1003};
  const std::vector<std::size_t> ignored{0};
  EXPECT_EQ(pairs_of(masked_times(mask, description, ignored, {0, 700})),
            (Pairs{{100, 100}, {200, 100}, {400, 300}}));
  EXPECT_EQ(pairs_of(masked_times(mask, description, ignored, {150, 100})),
            (Pairs{{150, 50}, {200, 100}}));
  EXPECT_EQ(pairs_of(masked_times(mask, description, {}, {0, 400})), (Pairs{{100, 100}}));
}

}  // namespace
}  // namespace tautline::pipeline

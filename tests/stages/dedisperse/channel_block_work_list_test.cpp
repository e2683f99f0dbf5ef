// The work list of channel_blocks.cuda.kernel, and the kernel itself with the matrix units emulated: its sums are the
// sums along the delays of which the list is made.
#include "tautline/stages/dedisperse/gpu/hopper/channel_block_work_list.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

#include "tautline/core/integers.h"
#include "tautline/stages/dedisperse/plan/delays.h"
#include "tests/stages/dedisperse/host_dialect.h"
#include "tests/stages/dedisperse/support.h"

// Of every list here: a tile of 64 times and 8 trials, channel blocks of 8, tiles of patterns
// in twos.
#define ITEMS_TIME 16
#define ITEMS_DM 2
#define ELEMENTS_TIME 2
#define ELEMENTS_DM 4
#define PRODUCER_WARPS 2
#define FETCH_WARPS 2
#define CHANNELS 8
#define TILES 2
#define PAIRED_TILES 1
#define ROW_WORDS row_words
#define PACKET_WORDS packet_words
#define LOCAL_WORDS shared_words
#define PACKETS packet_slots

namespace {
u32 row_words, packet_words, shared_words, packet_slots;  // constants of the work list that is run
using tautline::tests::on_host::add_there;
using tautline::tests::on_host::arrive;
using tautline::tests::on_host::await;
using tautline::tests::on_host::begin_count;
using tautline::tests::on_host::copy_whole;
using tautline::tests::on_host::counts_begun;
using tautline::tests::on_host::cut_word;
using tautline::tests::on_host::expect_words;
using tautline::tests::on_host::forget;
using tautline::tests::on_host::join_halves;
using tautline::tests::on_host::multiply;
using tautline::tests::on_host::one_at;
using tautline::tests::on_host::store_two;
}  // namespace

// What overflows is carried here, and below goes to where trials belong.
namespace window_8 {
namespace {
#define WINDOW 8
#define CARRIES 1
#include "tautline/stages/dedisperse/gpu/hopper/channel_blocks.cuda.kernel"
#undef WINDOW
#undef CARRIES
}  // namespace
}  // namespace window_8

namespace window_16 {
namespace {
#define WINDOW 16
#define CARRIES 0
#include "tautline/stages/dedisperse/gpu/hopper/channel_blocks.cuda.kernel"
}  // namespace
}  // namespace window_16

namespace tautline::stages::dedisperse {
namespace {

constexpr GroupShape kShape{.tunables = {ITEMS_TIME, ITEMS_DM, ELEMENTS_TIME, ELEMENTS_DM},
                            .shared_bytes = 64 << 10};

auto list_for(const DelayPlan& plan, const Delays& delays, const GroupShape& shape) {
  return make_channel_block_work_list(plan, delays, shape, CHANNELS);
}
auto list_for(const Config& config, const GroupShape& shape) {
  const DelayPlan plan(config);
  return list_for(plan, plan.delays(), shape);
}
bool carries(const GpuWorkList& list) {
  return list.constants.at("CARRIES") == 1;
}
std::size_t blocks_in_sum(const GpuWorkList& list) {
  return list.numbers[1];
}

// Rows of random bytes, with as much before and behind as the kernel may read.
struct Rows {
  Rows(std::size_t positions, std::size_t times, std::mt19937_64& random, std::uint8_t least)
      : stride((kMostTimesBefore + times + 256) / 16 * 16) {
    bytes.resize(positions * stride);
    for (auto& byte : bytes) byte = static_cast<std::uint8_t>(least + random() % (256u - least));
  }
  std::uint8_t at(std::size_t position, std::size_t time) const {
    return bytes[position * stride + kMostTimesBefore + time];
  }
  std::size_t stride;
  std::vector<std::uint8_t> bytes;
};

void compare(const Config& config, const Delays& delays, const GroupShape& shape,
             std::size_t window, std::uint8_t least = 0) {
  const DelayPlan plan(config);
  const auto list = list_for(plan, delays, shape);
  ASSERT_TRUE(list);
  ASSERT_EQ(list->constants.at("WINDOW"), window);
  for (auto& [value, name] : {std::pair<u32&, const char*>{row_words, "ROW_WORDS"},
                              {packet_words, "PACKET_WORDS"},
                              {shared_words, "LOCAL_WORDS"},
                              {packet_slots, "PACKETS"}})
    value = core::u32(list->constants.at(name));
  // The second of three tiles is whole.
  const std::size_t span = shape.span(), times = 4 * span + 37, trials = delays.trials;
  const u32 skip = 3;
  auto random = tests::generator();
  const Rows rows(delays.positions, times + skip + plan.max_delay() + 2 * span, random, least);
  const auto kernel =
      window == 8 ? window_8::dedisperse_channel_blocks : window_16::dedisperse_channel_blocks;
  std::vector<std::int32_t> out(trials * times, -123456789);
  tests::on_host::run_groups(
      ITEMS_TIME * ITEMS_DM + 32 * (PRODUCER_WARPS + FETCH_WARPS), shared_words,
      {core::u32(core::divide_up(times + skip, 2 * span) * core::divide_up(trials, shape.trials())),
       1, 1},
      [&] {
        kernel(rows.bytes.data(), list->lists[0].data(), plan.order().data(), out.data(),
               rows.stride, 0, kMostTimesBefore, core::u32(list->numbers[0]),
               core::u32(list->numbers[1]), static_cast<u32>(trials), skip,
               static_cast<u32>(skip + times), times, 0, 1000);
      });
  for (std::size_t i = 0; i < trials; ++i)
    for (std::size_t t = 0; t < times; ++t) {
      std::int32_t sum = -1000;
      for (std::size_t p = 0; p < delays.positions; ++p)
        sum += rows.at(p, skip + t + static_cast<std::size_t>(delays(i, p)));
      ASSERT_EQ(out[i * times + t], sum) << "trial " << i << ", time " << t;
    }
}

Config band(std::size_t channels, std::size_t trials, double step) {
  Config config = small_config(channels, 8, trials);
  config.dms = even_dms(step, trials);
  std::reverse(config.dms.begin(), config.dms.end());
  return config;
}

TEST(ChannelBlockWorkList, SumsByTheMatrixUnitsAreThoseOfTheDelays) {
  const std::pair<std::size_t, double> bands[] = {{8, 0.5}, {3, 0.5}, {21, 1}, {33, 2}};
  for (const auto& [channels, step] : bands) {
    SCOPED_TRACE(channels);
    const Config config = band(channels, 19, step);
    compare(config, DelayPlan(config).delays(), kShape, 8);
  }
}

TEST(ChannelBlockWorkList, WiderWindows) {
  Config config = band(11, 10, 3);
  compare(config, DelayPlan(config).delays(), kShape, 16);
  config = band(11, 10, 8);
  EXPECT_FALSE(list_for(config, kShape));
}

// Delays of a trial's own, so that nothing is shared and rows begin before the first time.
Delays patterns_of_every_trial(const Config& config) {
  Delays delays = DelayPlan(config).delays();
  auto random = tests::generator();
  for (std::size_t i = 0; i < delays.trials; ++i)
    for (std::size_t p = 0; p < delays.positions; ++p)
      delays.samples[i * delays.positions + p] += static_cast<std::int32_t>(random() % 2);
  for (auto& delay : delays.samples)
    delay = std::min(delay, static_cast<std::int32_t>(DelayPlan(config).max_delay()));
  return delays;
}

TEST(ChannelBlockWorkList, PatternsOfEveryTrial) {
  const Config config = band(24, 8, 0.5);
  compare(config, patterns_of_every_trial(config), kShape, 8);
}

// So little shared memory that sums lie where those of two channel blocks before did.
TEST(ChannelBlockWorkList, ProducersWaitForSumsThatAreStillRead) {
  const Config config = band(200, 8, 0.5);
  const Delays delays = patterns_of_every_trial(config);
  GroupShape shape = kShape;
  const auto fits = [&] {
    const auto list = list_for(DelayPlan(config), delays, shape);
    return list && carries(*list);
  };
  while (fits()) shape.shared_bytes -= 128;
  shape.shared_bytes += 128;
  compare(config, delays, shape, 8);
}

// By two channel blocks at a time, one after another to where they go.
TEST(ChannelBlockWorkList, SumsThatOverflowSixteenBitsGoOn) {
  const Config config = band(11, 10, 3);
  GroupShape shape = kShape;
  shape.channels_in_sum = 9;
  compare(config, DelayPlan(config).delays(), shape, 16);
}

TEST(ChannelBlockWorkList, WhatOverflowsIsCarried) {
  // Of bytes, whose sums have 17 bits: after 24 channel blocks. Of the largest, after 24, 48 and 72, with
  // as much to carry as there can be.
  Config config = band(270, 8, 0.02);
  compare(config, DelayPlan(config).delays(), kShape, 8);
  config = band(600, 5, 0.01);
  compare(config, DelayPlan(config).delays(), kShape, 8, 255);
  // After each channel block; five times, before sums go to where they belong, and again.
  config = band(70, 8, 0.1);
  GroupShape shape = kShape;
  shape.channels_in_sum = 17;
  const auto list = list_for(config, shape);
  ASSERT_TRUE(list && carries(*list));
  EXPECT_EQ(blocks_in_sum(*list), 1u);
  compare(config, DelayPlan(config).delays(), shape, 8);
  // Where there is no room for that.
  auto smaller = list;
  while (smaller && carries(*smaller)) {
    shape.shared_bytes -= 128;
    smaller = list_for(config, shape);
  }
  ASSERT_TRUE(smaller);
  EXPECT_EQ(blocks_in_sum(*smaller), 2u);
}

TEST(ChannelBlockWorkList, NoneWhereNothingFits) {
  const Config config = band(16, 8, 2.5);
  GroupShape shape = kShape;
  shape.shared_bytes = 4096;
  EXPECT_FALSE(list_for(config, shape));
  shape = kShape;
  shape.channels_in_sum = 7;
  EXPECT_FALSE(list_for(config, shape));
  const Config far = band(16, 8, 400);
  EXPECT_FALSE(list_for(far, kShape));
}

}  // namespace
}  // namespace tautline::stages::dedisperse

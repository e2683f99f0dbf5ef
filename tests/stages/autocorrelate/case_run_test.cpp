// Random counts for autocorrelators: within their range, and never more than 64 bits can hold.
#include "tautline/stages/autocorrelate/case_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tautline/core/error.h"
#include "tautline/stages/autocorrelate/lag_scheme.h"

namespace tautline::stages::autocorrelate {
namespace {

std::shared_ptr<const device::Device> one_core() {
  return device::open(device::parse_selection("cpu:portable"), {.threads = 1});
}

template <class Count>
std::vector<Count> drawn(std::size_t count, SampleType type, std::size_t most) {
  std::vector<Count> counts(count, Count{99});
  draw_counts(counts.data(), count, type, most);
  return counts;
}

template <class Count>
void expect_all_up_to(SampleType type, std::size_t most) {
  const auto counts = drawn<Count>(20'000, type, most);
  EXPECT_EQ(*std::min_element(counts.begin(), counts.end()), Count{0});
  EXPECT_EQ(*std::max_element(counts.begin(), counts.end()), static_cast<Count>(most));
}

TEST(DrawCounts, HoldsEveryCountUpToTheLargest) {
  expect_all_up_to<std::uint8_t>(SampleType::u8, 255);
  expect_all_up_to<std::uint8_t>(SampleType::u8, 3);
  expect_all_up_to<std::uint16_t>(SampleType::u16, 1000);
  expect_all_up_to<std::uint32_t>(SampleType::u32, 70);
  expect_all_up_to<float>(SampleType::f32, 70);
}

TEST(CaseRun, SumsAreThoseOfItsCounts) {
  const Config config{.sensors = 3, .bins = 4, .levels = 2, .max_samples = 50};
  const auto device = one_core();
  CaseRun feed(config, 9, device);
  feed.use(make_plan(config, device));
  const auto counts = drawn<std::uint8_t>(150, config.type, 9);
  ASSERT_EQ(feed.packet_bytes(), counts.size());
  feed.give(counts.data());
  feed.give(counts.data());
  EXPECT_EQ(feed.state().samples(), 100u);
  std::vector<std::int64_t> curves(feed.read_bytes() / sizeof(std::int64_t), -1);
  feed.read(curves.data());
  const std::size_t lags = lag_count(config);
  ASSERT_EQ(curves.size(), 4 * 3 * lags);
  for (std::size_t s = 0; s < 3; ++s) {
    std::int64_t squares = 0, total = 0;
    for (std::size_t t = 0; t < 50; ++t) {
      squares += 2 * counts[3 * t + s] * counts[3 * t + s];
      total += 2 * counts[3 * t + s];
    }
    EXPECT_EQ(curves[s * lags], squares);
    EXPECT_EQ(curves[(2 * 3 + s) * lags], total);
    EXPECT_EQ(curves[(3 * 3 + s) * lags], total);
  }
}

// 65,535 x 2^19 at the last level times the total: the fourth packet would pass 2^62.
TEST(CaseRun, BeginsAnewBeforeSumsLeave64Bits) {
  const Config config{
      .bins = 2, .levels = 20, .type = core::SampleType::u16, .max_samples = 10'000};
  const auto device = one_core();
  CaseRun feed(config, 65535, device);
  feed.use(make_plan(config, device));
  const std::vector<std::uint16_t> full(10'000, 65535);
  for (const std::uint64_t packets : {1u, 2u, 3u, 1u, 2u}) {
    feed.give(full.data());
    EXPECT_EQ(feed.state().samples(), 10'000 * packets);
  }
}

TEST(CaseRun, RefusesCountsThatTheTypeHasNot) {
  const auto device = one_core();
  EXPECT_THROW(CaseRun({.type = core::SampleType::u8}, 256, device), core::Error);
  EXPECT_THROW(CaseRun({.type = core::SampleType::u16}, 65536, device), core::Error);
  EXPECT_THROW(CaseRun({.type = core::SampleType::f32}, (1 << 24) + 1, device), core::Error);
  EXPECT_NO_THROW(
      CaseRun({.bins = 2, .levels = 1, .type = core::SampleType::f32}, 1 << 24, device));
}

}  // namespace
}  // namespace tautline::stages::autocorrelate

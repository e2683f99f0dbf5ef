// Wraps of counters, short streams, packets of others, windows: what the grid does not have.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tautline/core/error.h"
#include "tests/stream/capture_support.h"
#include "tests/support/error_of.h"

namespace {

using namespace tautline;
using namespace tautline::tests;
using formats::packets::PacketLayout;
using stream::Capture;
using stream::CaptureConfig;

// Starts 3 payloads before the wrap, loses those around it, and goes on for 100.
void expect_exact_across_wrap(const PacketLayout& layout, bool start_is_known) {
  const std::uint64_t start = (layout.period == 0 ? 0 : layout.period) - 3 * layout.step;
  CaptureConfig config = config_of(layout);
  if (start_is_known) config.first_count = start;
  Bench bench(config);
  std::uint64_t lost = 0;
  for (std::uint64_t time = 0; time < 100; ++time)
    for (std::size_t flow = 0; flow < bench.flows(); ++flow) {
      const bool loses = (time >= 2 && time < 5 && flow == 0) || time == 4;
      lost += loses ? 1 : 0;
      if (!loses) bench.send_flow(start, time, flow);
    }
  bench.capture.finish();
  EXPECT_EQ(bench.counters().accepted, 100 * bench.flows() - lost) << layout.name;
  EXPECT_EQ(bench.counters().missing, lost) << layout.name;
  EXPECT_EQ(bench.counters().sent(), 100 * bench.flows()) << layout.name;
  EXPECT_EQ(bench.counters().jumps, 0u);
  std::uint64_t first = 0;
  for (const auto& block : bench.store.blocks) {
    EXPECT_EQ(block.segment, 0u);
    EXPECT_EQ(block.start_count, start);
    EXPECT_EQ(block.first, first);
    first += block.samples;
  }
  EXPECT_EQ(first, 100 * layout.samples());
}

TEST(Capture, WrapsOfCountersAreExact) {
  for (const std::size_t bits : {16u, 32u, 48u, 64u})
    for (const std::uint64_t step : {1u, 4u, 6u})  // 6 does not divide the period
      for (const bool known : {false, true})
        expect_exact_across_wrap(small_layout(bits, step), known);
}

TEST(Capture, WrapsOfPresetsAreExact) {
  // The 64th half-year of VDIF, 2^32 seconds of GPS and Unix time, a record a sample of the MWA's prototype.
  for (const char* name :
       {"vdif", "vdif-vtp", "mwax", "lofar", "mwa32t", "meerkat-f", "meerkat-digitiser", "grex"})
    expect_exact_across_wrap(formats::packets::read_layout(name), false);
}

// With fewer packets before the change than prove the stream's position, and more; with the last one before it and the
// first two behind it lost, too.
TEST(Capture, HalfYearsOfVdifFollowOn) {
  const PacketLayout layout = formats::packets::read_layout("vdif");
  for (const std::uint64_t before : {3u, 30u})
    for (const std::uint64_t lost : {0u, 3u}) {
      // 2027-01-01, half-year 54, is 9862 days from 2000-01-01.
      const std::uint64_t start = std::uint64_t{9862} * 86400 * 2000 - before, times = before + 17;
      Bench bench(config_of(layout, 1));
      for (std::uint64_t time = 0; time < times; ++time) {
        auto packet = packet_of(bench.capture, layout, start, time, 0);
        EXPECT_EQ(packet[7], std::byte(time < before ? 53 : 54));
        if (time + 1 < before || time + 1 >= before + lost) bench.capture.place(packet);
      }
      bench.capture.finish();
      EXPECT_EQ(bench.counters().accepted, times - lost);
      EXPECT_EQ(bench.counters().missing, lost);
      EXPECT_EQ(bench.counters().sent(), times);
      EXPECT_EQ(bench.counters().jumps, 0u);
      std::uint64_t samples = 0;
      for (const auto& block : bench.store.blocks) {
        EXPECT_EQ(block.start_count, start);
        EXPECT_EQ(block.first, samples);
        samples += block.samples;
      }
      EXPECT_EQ(samples, times * layout.samples());
    }
}

TEST(Capture, ShortStreamsAreGivenOn) {
  Bench bench(config_of(small_layout(48)));
  for (const std::uint64_t time : {2u, 0u, 1u}) bench.send(77, time);
  EXPECT_FALSE(bench.capture.locked());
  bench.capture.finish();
  EXPECT_EQ(bench.counters().accepted, 3 * bench.flows());
  ASSERT_EQ(bench.store.blocks.size(), 1u);
  EXPECT_EQ(bench.store.blocks[0].samples, 12u);
  EXPECT_EQ(bench.store.blocks[0].start_count, 77u);
}

TEST(Capture, FlushGivesOnWhatHasComeAndTheRestIsLate) {
  Bench bench(config_of(small_layout(48)));
  for (std::uint64_t time = 0; time < 7; ++time)
    for (std::size_t flow = 0; flow < bench.flows(); ++flow)
      if (time != 5 || flow != 0) bench.send_flow(0, time, flow);
  bench.capture.flush();
  ASSERT_EQ(bench.store.blocks.size(), 2u);
  EXPECT_EQ(bench.store.blocks[1].samples, 8u);
  EXPECT_EQ(bench.counters().missing, 1u);
  bench.send_flow(0, 5, 0);
  bench.send_flow(0, 5, 0);
  EXPECT_EQ(bench.counters().late, 1u);
  EXPECT_EQ(bench.counters().duplicate, 1u);
  EXPECT_EQ(bench.counters().missing, 0u);
  for (std::uint64_t time = 7; time < 12; ++time) bench.send(0, time);
  bench.capture.finish();
  ASSERT_EQ(bench.store.blocks.size(), 3u);
  EXPECT_EQ(bench.store.blocks[2].first, 28u);
  EXPECT_TRUE(bench.store.blocks[2].valid.all_valid());
  EXPECT_EQ(bench.counters().sent(), 12 * bench.flows() + 1);
}

TEST(Capture, PacketsThatTheirSenderCallsInvalidAreMarked) {
  const PacketLayout layout = formats::packets::read_layout("vdif");
  Bench bench(config_of(layout, 1));
  for (std::uint64_t time = 0; time < 20; ++time) {
    auto packet = packet_of(bench.capture, layout, 0, time, 0);
    if (time == 9) packet[3] |= std::byte{0x80};
    bench.capture.place(packet);
  }
  bench.capture.finish();
  EXPECT_EQ(bench.counters().accepted, 20u);
  EXPECT_EQ(bench.counters().flagged, 1u);
  EXPECT_EQ(bench.counters().missing, 0u);
  std::uint64_t valid = 0;
  for (const auto& block : bench.store.blocks) valid += block.valid.count();
  EXPECT_EQ(valid, 19 * layout.samples());
}

TEST(Capture, OthersPacketsAreForeign) {
  CaptureConfig config = config_of(small_layout(48));
  config.shape.antenna_numbers = {7, 3};
  config.shape.first_channel = 100;
  Bench bench(config);
  CaptureConfig wide = config_of(small_layout(48), 8);
  wide.shape.channels = 200;
  Bench others(wide);
  const auto& flows = others.capture.placement();
  std::uint64_t ours = 0;
  for (std::size_t flow = 0; flow < flows.flows(); ++flow) {
    const auto header = flows.header(flow);
    ours += (header.antenna == 3 || header.antenna == 7) && header.channel == 100 ? 1 : 0;
    bench.capture.place(packet_of(others.capture, others.layout, 0, 0, flow));
  }
  bench.capture.finish();
  EXPECT_EQ(ours, 2u);
  EXPECT_EQ(bench.counters().accepted, ours);
  EXPECT_EQ(bench.counters().foreign, flows.flows() - ours);
}

TEST(Capture, OthersSubArraysAreForeign) {
  const PacketLayout layout = formats::packets::parse_layout(R"(
header_bytes = 12
axes = [[2, "channel"], [4, "time"], [2, "polarisation"]]
sample = "ci8"
step = 4
[fields]
antenna = { offset_bits = 0, bits = 16 }
channel = { offset_bits = 16, bits = 16 }
sub_array = { offset_bits = 32, bits = 8 }
counter = { offset_bits = 48, bits = 48 }
)",
                                                             "shared.toml");
  constexpr std::uint64_t kArrays = 3, kSentTimes = 30;
  for (const std::optional<std::uint64_t> wanted :
       {std::optional<std::uint64_t>(), std::optional<std::uint64_t>(1)}) {
    CaptureConfig config = config_of(layout);
    config.sub_array = wanted;
    Bench bench(config);
    const auto payload = [&](std::uint64_t array, std::uint64_t time, std::size_t flow) {
      return payload_of(time, flow + 100 * array, layout.part_bytes());
    };
    for (std::uint64_t time = 0; time < kSentTimes; ++time)
      for (std::uint64_t array = 0; array < kArrays; ++array)
        for (std::size_t flow = 0; flow < bench.flows(); ++flow) {
          const auto bytes = payload(array, time, flow);
          auto header = bench.capture.placement().header(flow);
          header.count = time * layout.step;
          header.sub_array = array;
          header.payload = bytes;
          std::vector<std::byte> packet;
          formats::packets::encode(layout, header, packet);
          bench.capture.place(packet);
        }
    bench.capture.finish();
    const std::uint64_t others = (kArrays - 1) * kSentTimes * bench.flows();
    EXPECT_EQ(bench.counters().accepted, kSentTimes * bench.flows());
    EXPECT_EQ(bench.counters().foreign, wanted ? others : 0);
    EXPECT_EQ(bench.counters().duplicate,
              wanted ? 0 : others);  // everybody's: the first of a place
    EXPECT_EQ(bench.counters().missing, 0u);
    auto placement = bench.capture.placement();
    std::uint64_t time = 0;
    std::vector<std::byte> found(layout.part_bytes());
    for (const auto& block : bench.store.blocks)
      for (std::size_t at = 0; at < block.samples; at += layout.samples(), ++time)
        for (std::size_t flow = 0; flow < bench.flows(); ++flow) {
          placement.take(flow, at, block.bytes.data(), found.data());
          EXPECT_TRUE(found == payload(wanted.value_or(0), time, flow)) << time << " " << flow;
        }
    EXPECT_EQ(time, kSentTimes);
  }
}

TEST(Capture, BadWindowsAreRefused) {
  const auto fails = [](CaptureConfig config, const std::string& field) {
    KeepingStore store;
    const core::Error wrong = tests::error_of([&] { Capture capture(config, store); });
    EXPECT_EQ(wrong.field(), field);
  };
  CaptureConfig config = config_of(small_layout(16, 1));
  config.window_samples = 4 * 16384;
  fails(config, "window_samples");
  config.window_samples = 6;
  fails(config, "window_samples");
  config = config_of(small_layout(48));
  config.shape.samples = 6;
  fails(config, "block_samples");
  config = config_of(small_layout(48));
  config.shape.channels = 3;
  fails(config, "channels");
  config = config_of(formats::packets::read_layout("grex"));
  config.shape.antennas = 2;
  fails(config, "antennas");
}

// Two seconds of the MWA's prototype in blocks of more than a period of its counter, without a window of one's own.
TEST(Capture, BlocksMayBeLongerThanTheCountersPeriod) {
  CaptureConfig config = config_of(formats::packets::read_layout("mwa32t"));
  config.shape.samples = 100'000;
  config.window_samples = 0;
  Bench bench(config);
  for (std::uint64_t time = 0; time < 250'000; ++time)
    for (std::size_t flow = 0; flow < bench.flows(); ++flow)
      if (time % 1000 != 7 || flow != 1) bench.send_flow(65'000, time, flow);
  bench.capture.finish();
  EXPECT_EQ(bench.counters().missing, 250u);
  EXPECT_EQ(bench.counters().sent(), 250'000 * bench.flows());
  EXPECT_EQ(bench.counters().jumps, 0u);
  ASSERT_EQ(bench.store.blocks.size(), 3u);
  EXPECT_EQ(bench.store.blocks[2].first, 200'000u);
}

}  // namespace

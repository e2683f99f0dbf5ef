// Packets that are damaged, forged or of random bytes: counted, never outside their memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tests/stream/capture_support.h"
#include "tests/support/seed.h"

namespace {

using namespace tautline;
using namespace tautline::tests;

using formats::packets::PacketLayout;

// Random bytes, and packets of ours with some bytes changed or the end cut off: counted, never outside their memory.
TEST(CaptureHostile, RandomBytesAreCounted) {
  auto random = generator();
  Bench bench(config_of(small_layout(48)));
  std::uint64_t sent = 0, good = 0;
  std::vector<std::byte> packet;
  for (std::uint64_t time = 0; time < 2000; ++time) {
    for (std::size_t flow = 0; flow < bench.flows(); ++flow, ++good) bench.send_flow(5, time, flow);
    for (int k = 0; k < 3; ++k, ++sent) {
      const bool ours = random() % 2 == 0;  // by its first bytes and its length
      packet.resize(ours ? 16 + bench.layout.part_bytes() : random() % 100);
      for (std::byte& byte : packet) byte = static_cast<std::byte>(random());
      if (ours) {
        packet[0] = std::byte{0x74};
        packet[1] = std::byte{0x61};
      }
      bench.capture.place(packet);
    }
  }
  bench.capture.finish();
  EXPECT_EQ(bench.counters().accepted, good);
  EXPECT_EQ(bench.counters().sent(), good + sent);
  EXPECT_EQ(bench.counters().invalid(), sent);
}

// A flipped bit of a header costs the place of its packet and no other; bits that no field has cost nothing.
TEST(CaptureHostile, FlippedBitsOfHeadersLoseTheirPlaceAlone) {
  auto random = generator();
  const PacketLayout layout = small_layout(48);
  constexpr std::uint64_t kSentTimes = 60;
  for (std::size_t bit = 0; bit < 8 * layout.header_bytes; ++bit) {
    const bool unused = bit >= 48 && bit < 80;
    Bench bench(config_of(layout));
    // So far from the end that no time behind it is counted, where a counter is ahead by less than the window.
    const std::uint64_t start = random() >> 17, hit = 10 + random() % 30;
    const std::size_t hit_flow = random() % bench.flows();
    for (std::uint64_t time = 0; time < kSentTimes; ++time)
      for (std::size_t flow = 0; flow < bench.flows(); ++flow) {
        auto packet = packet_of(bench.capture, layout, start, time, flow);
        if (time == hit && flow == hit_flow) packet[bit / 8] ^= std::byte{0x80} >> bit % 8;
        bench.capture.place(packet);
      }
    bench.capture.finish();
    const auto& c = bench.counters();
    const std::uint64_t places = kSentTimes * bench.flows(), refused = unused ? 0 : 1;
    EXPECT_EQ(c.accepted, places - refused) << bit;
    EXPECT_EQ(c.missing, refused) << bit;
    EXPECT_EQ(c.late + c.duplicate + c.invalid(), refused) << bit;
    EXPECT_EQ(c.jumps, 0u) << bit;
    const std::size_t payload_samples = layout.samples(), at = hit * payload_samples;
    std::uint64_t valid = 0;
    for (const auto& block : bench.store.blocks) {
      valid += block.valid.count();
      if (at < block.first || at >= block.first + block.samples) continue;
      const auto& box = bench.capture.placement().box(hit_flow);
      using formats::packets::AxisName;
      const std::size_t row = box.begin(AxisName::channel) * 4 + box.begin(AxisName::antenna) * 2;
      EXPECT_EQ(block.valid.valid(row, at - block.first), unused) << bit;
    }
    EXPECT_EQ(valid, c.accepted * payload_samples * 2 * 2) << bit;  // channels, polarisations
  }
}

TEST(CaptureHostile, DamagedPacketsOfEveryPreset) {
  auto random = generator();
  for (const std::string_view name : formats::packets::preset_names()) {
    const PacketLayout layout = formats::packets::read_layout(std::string(name));
    Bench bench(config_of(layout));
    const std::size_t memory = bench.capture.bytes();
    std::uint64_t time = 0;
    for (int k = 0; k < 600; ++k, ++time) {
      auto packet = packet_of(bench.capture, layout, 0, time, random() % bench.flows());
      const std::uint64_t how = random() % 4;
      if (how == 0) packet.resize(random() % packet.size());
      for (std::uint64_t n = how == 1 ? 1 + random() % 4 : 0; n > 0; --n)
        packet[random() % std::min<std::size_t>(packet.size(), 80)] =
            static_cast<std::byte>(random());
      if (how == 2) time += random() % 30;
      // On the heap and no longer than it is, so that a sanitizer sees every byte read outside.
      const std::vector<std::byte> exact(packet.begin(), packet.end());
      bench.capture.place(exact, random() % 16 == 0 ? random() : 0);
    }
    bench.capture.finish();
    EXPECT_LE(bench.store.most_open(), bench.capture.open_blocks()) << name;
    EXPECT_EQ(bench.capture.bytes(), memory) << name;
    bench.store.blocks.clear();
  }
}

// A sender of well-formed packets with any counter can move the stream on, but neither memory nor time runs away.
TEST(CaptureHostile, CountersFromAnywhere) {
  auto random = generator();
  for (const std::size_t bits : {16u, 48u, 64u}) {
    Bench bench(config_of(small_layout(bits, 1)));
    std::uint64_t sent = 0;
    for (int k = 0; k < 3000; ++k) {
      const std::uint64_t start = random() >> random() % 64;
      const std::uint64_t run = random() % 20;
      for (std::uint64_t time = 0; time < run; ++time, ++sent)
        bench.send_flow(start, time, random() % bench.flows());
    }
    bench.capture.finish();
    const auto& c = bench.counters();
    EXPECT_EQ(c.accepted + c.late + c.duplicate + c.invalid(), sent);
    EXPECT_LE(bench.store.most_open(), bench.capture.open_blocks());
    EXPECT_GT(c.jumps, 0u);
  }
}

}  // namespace

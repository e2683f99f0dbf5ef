// The damage that networks do to the packets of a small telescope, and the expected blocks of a capture.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "tests/stream/capture_support.h"

namespace tautline::tests {

inline constexpr std::uint64_t kTimes = 400;  // payloads of each flow
inline constexpr std::size_t kAntennas = 3, kChannels = 4, kWindow = 24, kBlock = 10;

struct Arrival {
  std::uint64_t time;
  std::size_t flow;
  double place;
};

struct Impairment {
  double loss, reorder, duplicate;
  std::uint64_t farthest;  // payload times that a packet may be delayed by
};

// The packets that arrive, in order, and how many copies the network made.
inline std::vector<Arrival> impair(const Impairment& how, std::size_t flows,
                                   std::mt19937_64& random, std::uint64_t& copies) {
  std::uniform_real_distribution<double> chance(0, 1);
  std::vector<Arrival> arrivals;
  const auto delay = [&] { return chance(random) * static_cast<double>(how.farthest * flows); };
  for (std::uint64_t time = 0; time < kTimes; ++time)
    for (std::size_t flow = 0; flow < flows; ++flow) {
      if (chance(random) < how.loss) continue;
      Arrival arrival{time, flow, static_cast<double>(time * flows + flow)};
      if (chance(random) < how.reorder) arrival.place += delay();
      arrivals.push_back(arrival);
      if (chance(random) >= how.duplicate) continue;
      arrival.place += delay();
      arrivals.push_back(arrival);
      ++copies;
    }
  std::stable_sort(arrivals.begin(), arrivals.end(),
                   [](const Arrival& a, const Arrival& b) { return a.place < b.place; });
  return arrivals;
}

// Every sample of a flow's payload: in its place where it came, marked where it did not. True: it came.
inline bool lies_in_place(const stream::Capture& capture, const KeepingStore::Kept& block,
                          std::uint64_t time, std::size_t flow, std::size_t part_bytes) {
  formats::packets::Placement placement = capture.placement();
  const auto& box = placement.box(flow);
  using formats::packets::AxisName;
  const auto sample = static_cast<std::size_t>(time * 4 - block.first);
  const std::size_t row =
      box.begin(AxisName::channel) * kAntennas * 2 + box.begin(AxisName::antenna) * 2;
  const bool valid = block.valid.valid(row, sample);
  for (std::size_t c = 0; c < 2; ++c)
    for (std::size_t p = 0; p < 2; ++p)
      for (std::size_t t = 0; t < 4; ++t)
        EXPECT_EQ(block.valid.valid(row + c * kAntennas * 2 + p, sample + t), valid);
  std::vector<std::byte> found(part_bytes);
  placement.take(flow, sample, block.bytes.data(), found.data());
  EXPECT_EQ(found == payload_of(time, flow, part_bytes), valid)
      << "time " << time << " flow " << flow;
  return valid;
}

inline stream::CaptureConfig grid_config(const formats::packets::PacketLayout& layout,
                                         std::uint64_t start) {
  return {.layout = layout,
          .shape = {.samples = kBlock * 4, .channels = kChannels, .antennas = kAntennas},
          .window_samples = kWindow * 4,
          .first_count = start,
          .sub_array = {}};
}

// All blocks that were kept, of one segment; returns how many payloads are valid, and adds up what blocks call missing.
inline std::uint64_t check_blocks(const stream::Capture& capture, const KeepingStore& store,
                                  const formats::packets::PacketLayout& layout,
                                  std::uint64_t& missing) {
  std::uint64_t valid = 0, times = 0;
  for (const auto& block : store.blocks) {
    EXPECT_EQ(block.segment, 0u);
    EXPECT_EQ(block.first, times * 4);
    missing += block.missing;
    for (std::size_t k = 0; k * 4 < block.samples; ++k, ++times)
      for (std::size_t flow = 0; flow < capture.placement().flows(); ++flow)
        valid += lies_in_place(capture, block, times, flow, layout.part_bytes()) ? 1 : 0;
  }
  return valid;
}

/// A capture of what arrives of a stream over an impaired network.
struct ImpairedCapture {
  ImpairedCapture(const Impairment& how, std::uint64_t seed) : random(seed) {
    store.set_block_bytes(capture.block_bytes());
    arrivals = impair(how, flows, random, copies);
    for (const Arrival& a : arrivals) distinct.insert({a.time, a.flow});
  }
  std::vector<std::byte> packet(const Arrival& arrival) const {
    return packet_of(capture, layout, start, arrival.time, arrival.flow);
  }
  /// Ends the stream: every packet that was sent is counted once, and what was accepted lies where it belongs.
  const stream::CaptureCounters& finish() {
    capture.finish(start + kTimes * layout.step);
    const auto& c = capture.counters();
    EXPECT_EQ(c.sent(), kTimes * flows + copies);
    EXPECT_EQ(c.missing, kTimes * flows - distinct.size());
    EXPECT_EQ(c.duplicate, copies);
    EXPECT_EQ(c.accepted + c.late, distinct.size());
    EXPECT_EQ(c.invalid(), 0u);
    EXPECT_LE(store.most_open(), capture.open_blocks());
    std::uint64_t missing = 0;
    EXPECT_EQ(check_blocks(capture, store, layout, missing), c.accepted);
    EXPECT_LE(missing, c.missing + c.late);
    return c;
  }

  std::mt19937_64 random;
  formats::packets::PacketLayout layout = small_layout(48);
  std::uint64_t start = random() >> 17;
  KeepingStore store;
  stream::Capture capture{grid_config(layout, start), store};
  std::size_t flows = capture.placement().flows();
  std::uint64_t copies = 0;
  std::vector<Arrival> arrivals;
  std::set<std::pair<std::uint64_t, std::size_t>> distinct;  // times and flows that arrive
};

}  // namespace tautline::tests

// A small telescope, its packets, and a store that keeps what a capture gives on.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "tautline/stream/capture.h"

namespace tautline::tests {

/// A header of 16 bytes: magic number, antenna, channel, counter of `bits` at the end.
inline formats::packets::PacketLayout small_layout(std::size_t bits, std::uint64_t step = 4) {
  std::string text = R"(
header_bytes = 16
axes = [[2, "channel"], [4, "time"], [2, "polarisation"]]
sample = "ci8"
step = STEP
[fields]
magic = { offset_bits = 0, bits = 16, value = 0x7461 }
antenna = { offset_bits = 16, bits = 16 }
channel = { offset_bits = 32, bits = 16 }
counter = { offset_bits = OFFSET, bits = BITS }
)";
  const auto put = [&](const std::string& name, std::uint64_t value) {
    text.replace(text.find(name), name.size(), std::to_string(value));
  };
  put("STEP", step);
  put("OFFSET", 128 - bits);
  put("BITS", bits);
  return formats::packets::parse_layout(text, "small.toml");
}

/// Keeps every block's samples and mask, by segment and time.
class KeepingStore final : public stream::BlockStore {
 public:
  struct Kept {
    std::uint64_t segment, start_count, first;
    std::size_t samples;
    std::vector<std::byte> bytes;
    core::ValidityMask valid;  // [channel x input]
    std::uint64_t missing;
  };
  explicit KeepingStore(std::byte poison = std::byte{0xa5}) : poison_(poison) {}
  void set_block_bytes(std::size_t bytes) { bytes_ = bytes; }

  std::byte* begin() override {
    begun_.emplace_back(bytes_, poison_);
    most_open_ = std::max(most_open_, begun_.size());
    return begun_.back().data();
  }
  void commit(const stream::CapturedBlock& block) override {
    Kept kept{block.segment, block.start_count,         block.first,
              block.samples, std::move(begun_.front()), {},
              block.missing};
    block.validity(false, kept.valid);
    check_spans(block);
    begun_.pop_front();
    blocks.push_back(std::move(kept));
  }
  std::size_t most_open() const { return most_open_; }
  std::vector<Kept> blocks;

 private:
  // The spans of a block say what its mask does.
  static void check_spans(const stream::CapturedBlock& block) {
    core::ValidityMask expected;
    block.validity(true, expected);
    core::ValidityMask mask(expected.rows(), expected.samples());
    std::vector<core::InvalidSpan> spans;
    block.invalid_spans(spans);
    for (std::size_t k = 0; k < spans.size(); ++k) {
      mask.set(spans[k].input, spans[k].first_sample, spans[k].samples, false);
      if (k > 0 && spans[k].input == spans[k - 1].input) {
        EXPECT_GT(spans[k].first_sample, spans[k - 1].first_sample + spans[k - 1].samples)
            << "not one span";
      }
    }
    for (std::size_t row = 0; row < mask.rows(); ++row)
      for (std::size_t word = 0; word < core::validity_words(mask.samples()); ++word)
        ASSERT_EQ(mask.row(row)[word], expected.row(row)[word]);
  }

  std::byte poison_;
  std::size_t bytes_ = 0, most_open_ = 0;
  std::deque<std::vector<std::byte>> begun_;
};

/// The bytes of the payload of a flow at a payload time: any two differ.
inline std::vector<std::byte> payload_of(std::uint64_t time, std::size_t flow, std::size_t bytes) {
  std::vector<std::byte> payload(bytes);
  std::uint64_t state = time * 0x9e3779b97f4a7c15u + flow * 0xbf58476d1ce4e5b9u + 1;
  for (std::byte& byte : payload) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    byte = static_cast<std::byte>(state >> 32);
  }
  return payload;
}

/// The packet of payload number `time`, the first of which has count `start`.
inline std::vector<std::byte> packet_of(const stream::Capture& capture,
                                        const formats::packets::PacketLayout& layout,
                                        std::uint64_t start, std::uint64_t time, std::size_t flow) {
  const auto payload = payload_of(time, flow, layout.part_bytes());
  formats::packets::PacketHeader header = capture.placement().header(flow);
  header.count = start + time * layout.step;
  if (layout.period != 0) header.count %= layout.period;
  header.payload = payload;
  std::vector<std::byte> packet;
  formats::packets::encode(layout, header, packet);
  return packet;
}

/// Blocks of 5 payloads and a window of 20.
inline stream::CaptureConfig config_of(const formats::packets::PacketLayout& layout,
                                       std::size_t antennas = 2) {
  stream::CaptureConfig config;
  config.layout = layout;
  config.shape.samples = 5 * layout.samples();
  using formats::packets::Meaning;
  if (layout.field(Meaning::antenna) != nullptr || layout.field(Meaning::input) != nullptr)
    config.shape.antennas = antennas * layout.extent(formats::packets::AxisName::antenna);
  config.window_samples = 20 * layout.samples();
  return config;
}

/// A capture, its store and its sender.
struct Bench {
  explicit Bench(const stream::CaptureConfig& config)
      : layout(config.layout), capture(config, store) {
    store.set_block_bytes(capture.block_bytes());
  }
  void send(std::uint64_t start, std::uint64_t time) {
    for (std::size_t flow = 0; flow < flows(); ++flow) send_flow(start, time, flow);
  }
  void send_flow(std::uint64_t start, std::uint64_t time, std::size_t flow) {
    capture.place(packet_of(capture, layout, start, time, flow), capture.placement().source(flow));
  }
  std::size_t flows() const { return capture.placement().flows(); }
  const stream::CaptureCounters& counters() const { return capture.counters(); }

  formats::packets::PacketLayout layout;
  KeepingStore store;
  stream::Capture capture;
};

}  // namespace tautline::tests

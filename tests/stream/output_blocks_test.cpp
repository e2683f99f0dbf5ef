// Packets through a run: the blocks that a sink gets hold what came, and say what did not.
#include "tautline/stream/output_blocks.h"

#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "tautline/engine/run.h"
#include "tests/stream/capture_support.h"

namespace {

using namespace tautline;
using namespace tautline::tests;
using formats::packets::PacketLayout;

constexpr std::uint64_t kStart = 640, kPayloads = 203;
constexpr std::uint64_t kJump = 150;  // payload from which counts are an hour of samples later

core::Instant noon_utc() {
  return core::parse_utc("2026-11-23-12:00:00");
}

PacketLayout telescope() {
  PacketLayout layout = small_layout(48);
  layout.rate_hz = core::make_rational(1000, 1);
  return layout;
}

stream::CaptureConfig config_of_telescope() {
  stream::CaptureConfig config;
  config.layout = telescope();
  config.shape.samples = 40;
  config.shape.antennas = 2;
  config.window_samples = 100;
  return config;
}

bool is_lost(std::uint64_t time, std::size_t flow) {
  return (time == 57 && flow == 1) || time == 58;
}

// Sends packets to itself, those of the second antenna ten payloads behind; then the same an hour later.
class PacketSource final : public engine::Node {
 public:
  PacketSource()
      : store_(stream::SegmentClock(telescope(), {}, noon_utc)),
        capture_(config_of_telescope(), store_) {}
  std::vector<engine::Stream> open(std::span<const engine::Stream>) override {
    engine::Stream out;
    out.kind = "raw voltages";
    out.arrays = {{"bytes", core::SampleType::u8, {"byte"}, {capture_.block_bytes()}}};
    out.rate_hz = config_of_telescope().layout.rate_hz;
    out.max_samples = 40;
    out.open_blocks = capture_.open_blocks();
    return {out};
  }
  bool produce(engine::Outputs& outputs) override {
    store_.use(outputs, capture_.block_layout());
    const std::uint64_t begin = sent_ < kJump + 10 ? 0 : kJump;
    const std::uint64_t end = begin == 0 ? kJump : kPayloads;
    const std::uint64_t time = begin == 0 ? sent_ : sent_ - 10;
    if (time == kPayloads + 10) {
      capture_.finish();
      return false;
    }
    if (time < end) place(time, 0);
    if (time >= begin + 10) place(time - 10, 1);
    ++sent_;
    return true;
  }
  engine::Counters counters() const override {
    return {{"accepted", capture_.counters().accepted}, {"missing", capture_.counters().missing}};
  }

 private:
  void place(std::uint64_t time, std::size_t flow) {
    const std::uint64_t start = kStart + (time < kJump ? 0 : 3'600'000);
    if (!is_lost(time, flow)) capture_.place(packet_of(capture_, telescope(), start, time, flow));
  }
  stream::OutputBlocks store_;
  stream::Capture capture_;
  std::uint64_t sent_ = 0;
};

struct TakenBlock {
  std::uint64_t segment, first;
  core::Instant start;
  std::size_t samples;
  std::vector<std::byte> bytes;
  std::vector<core::InvalidSpan> invalid;
  core::ValidityMask valid;
};

class BlockKeeper final : public engine::Node {
 public:
  explicit BlockKeeper(std::vector<TakenBlock>& taken) : taken_(taken) {}
  std::vector<engine::Stream> open(std::span<const engine::Stream>) override { return {}; }
  void process(std::size_t, const engine::Block& block, engine::Outputs&) override {
    const auto& raw = block.payload_of<core::RawBlock>();
    EXPECT_EQ(raw.samples, block.samples);
    taken_.push_back({block.segment,
                      block.first,
                      block.segment_start,
                      block.samples,
                      {raw.bytes.begin(), raw.bytes.end()},
                      raw.invalid,
                      block.valid});
  }

 private:
  std::vector<TakenBlock>& taken_;
};

TEST(OutputBlocks, GoThroughARun) {
  std::vector<TakenBlock> taken;
  engine::Graph graph;
  const auto source = graph.add("packets", std::make_unique<PacketSource>());
  const auto sink = graph.add("keeper", std::make_unique<BlockKeeper>(taken));
  graph.connect(source, sink);
  engine::Run run(std::move(graph));
  run.go();
  const engine::Counters counters = run.counters();
  EXPECT_EQ(counters.at("packets.accepted"), 2 * kPayloads - 3);
  // The lost samples, and an hour of both antennas.
  EXPECT_EQ(counters.at("packets.missing"), 3 + 2 * 3'600'000u / 4);

  formats::packets::Placement placement(telescope(), config_of_telescope().shape);
  const auto layout = telescope();
  std::uint64_t found = 0, invalid = 0, invalid_by_channel = 0;
  for (const TakenBlock& block : taken) {
    const std::uint64_t before = block.segment == 0 ? 0 : kJump;
    EXPECT_EQ(
        block.start,
        core::advance(noon_utc(),
                      block.segment == 0 ? 0 : 3'600'000 + static_cast<std::int64_t>(kJump) * 4,
                      layout.rate_hz));
    for (const core::InvalidSpan& span : block.invalid) invalid += span.samples;
    if (block.valid.rows() > 0) {
      EXPECT_EQ(block.valid.rows(), 2U * 2 * 2);  // channels x antennas x polarisations
      invalid_by_channel += block.valid.rows() * block.samples - block.valid.count();
    }
    for (std::size_t sample = 0; sample < block.samples; sample += 4)
      for (std::size_t flow = 0; flow < 2; ++flow) {
        const std::uint64_t time = before + (block.first + sample) / 4;
        std::vector<std::byte> payload(layout.part_bytes());
        placement.take(flow, sample, block.bytes.data(), payload.data());
        if (is_lost(time, flow)) {
          EXPECT_EQ(payload, std::vector<std::byte>(payload.size())) << time << ' ' << flow;
          continue;
        }
        EXPECT_EQ(payload, payload_of(time, flow, payload.size())) << time << ' ' << flow;
        ++found;
      }
  }
  EXPECT_EQ(found, 2 * kPayloads - 3);
  EXPECT_EQ(invalid, 3u * 4 * 2);                 // payloads x times x polarisations
  EXPECT_EQ(invalid_by_channel, 3u * 4 * 2 * 2);  // x channels
}

TEST(OutputBlocks, SegmentsBeginWhenTheirCountsSay) {
  int asked = 0;
  const auto now = [&asked] {
    ++asked;
    return noon_utc();
  };
  // Counts of no known beginning.
  stream::SegmentClock relative(telescope(), {}, now);
  EXPECT_EQ(relative.start_of(5000), noon_utc());
  EXPECT_EQ(relative.start_of(7000), core::advance(noon_utc(), 2, core::make_rational(1, 1)));
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(relative.start_of(0), noon_utc());  // a sender that began again
  EXPECT_EQ(asked, 2);
  // Seconds of GPS.
  stream::SegmentClock absolute(formats::packets::read_layout("mwax"), {}, now);
  EXPECT_EQ(core::to_iso(absolute.start_of(1'400'000'000ull * 625)), "2024-05-17T16:53:02.000000");
  EXPECT_EQ(core::to_iso(absolute.start_of(1'399'999'999ull * 625)), "2024-05-17T16:53:01.000000");
  EXPECT_EQ(asked, 2);
  stream::SegmentClock given(telescope(), noon_utc(), now);
  EXPECT_EQ(given.start_of(123), noon_utc());
  EXPECT_EQ(asked, 2);
}

}  // namespace

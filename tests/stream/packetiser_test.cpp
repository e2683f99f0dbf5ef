// Voltages to packets of every preset, and back through a capture: the samples that were sent.
#include "tautline/stream/packetiser.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <utility>

#include "tautline/core/error.h"
#include "tautline/core/sample_decode.h"
#include "tests/stream/capture_support.h"
#include "tests/support/error_of.h"
#include "tests/support/seed.h"

namespace {

using namespace tautline;
using namespace tautline::tests;
using formats::packets::AxisName;
using formats::packets::Meaning;
using formats::packets::PacketLayout;

// [time][channel][input] of a file's block, of codes that the packets can hold.
core::RawBlock make_block(const core::VoltageDescription& d, std::uint64_t first,
                          std::size_t samples, int bits, std::mt19937_64& random) {
  const bool complex = d.format.complex;
  const std::size_t sample_bits = complex ? 32 : 16;
  core::RawBlock block;
  block.layout = {.format = d.format,
                  .channels = d.channels,
                  .antennas = d.antennas,
                  .polarisations = d.polarisations};
  block.layout.polarisation_stride_bits = sample_bits;
  block.layout.antenna_stride_bits = sample_bits * d.polarisations;
  block.layout.channel_stride_bits = sample_bits * d.inputs();
  block.layout.time_stride_bits = sample_bits * d.inputs() * d.channels;
  block.first_sample = first;
  block.samples = samples;
  block.bytes.resize(samples * block.layout.time_stride_bits / 8);
  for (std::size_t k = 0; k + 1 < block.bytes.size(); k += 2) {
    int value = static_cast<int>(random() % (1u << bits)) - (1 << (bits - 1));
    if (bits == 2) value = 2 * value + 1;  // the levels of two bits of offset binary
    block.bytes[k] = static_cast<std::byte>(value);
    block.bytes[k + 1] = static_cast<std::byte>(value >> 8);
  }
  return block;
}

int component(const std::byte* bytes, const core::RawLayout& layout, std::size_t t, std::size_t c,
              std::size_t a, std::size_t p, std::size_t part) {
  return core::decode_integer(bytes,
                              layout.offset_bits + t * layout.time_stride_bits +
                                  c * layout.channel_stride_bits + a * layout.antenna_stride_bits +
                                  p * layout.polarisation_stride_bits +
                                  part * static_cast<std::size_t>(layout.format.bits),
                              layout.format);
}

core::VoltageDescription description_for(const PacketLayout& layout) {
  const bool inputs = layout.field(Meaning::input) != nullptr;
  core::VoltageDescription d;
  d.format = {16, layout.sample.complex, core::Encoding::twos_complement};
  d.antennas = layout.extent(AxisName::antenna) *
               (inputs || layout.field(Meaning::antenna) != nullptr ? 2 : 1);
  d.polarisations = inputs || layout.field(Meaning::polarisation) != nullptr
                        ? 2
                        : layout.extent(AxisName::polarisation);
  d.channels =
      layout.extent(AxisName::channel) * (layout.field(Meaning::channel) != nullptr ? 2 : 1);
  d.rate_hz = layout.rate_hz;
  return d;
}

TEST(Packetiser, SendsWhatACaptureReceives) {
  auto random = generator();
  for (const std::string_view name : formats::packets::preset_names()) {
    const PacketLayout layout = formats::packets::read_layout(std::string(name));
    const core::VoltageDescription d = description_for(layout);
    const std::size_t times = layout.samples(), payloads = 3;
    stream::CaptureConfig config;
    config.layout = layout;
    config.shape = {payloads * times, d.channels, d.antennas, d.polarisations, 0, {}};
    config.first_count = 10 * layout.step;
    KeepingStore store;
    stream::Capture capture(config, store);
    store.set_block_bytes(capture.block_bytes());
    stream::Packetiser packetiser(
        layout, d, *config.first_count,
        [&](auto packet, std::uint64_t source) { capture.place(packet, source); });
    // In blocks that do not end where payloads do, and one more time than payloads have.
    std::vector<core::RawBlock> blocks;
    const std::size_t cut = 1 + random() % (payloads * times);
    blocks.push_back(make_block(d, 0, cut, layout.sample.bits, random));
    blocks.push_back(make_block(d, cut, payloads * times + 1 - cut, layout.sample.bits, random));
    for (const core::RawBlock& block : blocks) packetiser.take(block);
    packetiser.finish();
    capture.finish();
    EXPECT_EQ(packetiser.counters().clipped, 0u) << name;
    EXPECT_EQ(packetiser.counters().trailing_samples, times == 1 ? 0u : 1u) << name;
    EXPECT_EQ(capture.counters().accepted, packetiser.counters().packets) << name;
    EXPECT_EQ(capture.counters().invalid() + capture.counters().late + capture.counters().duplicate,
              0u)
        << name;
    ASSERT_FALSE(store.blocks.empty()) << name;
    std::uint64_t wrong = 0;
    for (std::size_t t = 0; t < payloads * times; ++t) {
      const core::RawBlock& sent = blocks[t < cut ? 0 : 1];
      for (std::size_t c = 0; c < d.channels; ++c)
        for (std::size_t a = 0; a < d.antennas; ++a)
          for (std::size_t p = 0; p < d.polarisations; ++p)
            for (std::size_t part = 0; part < (d.format.complex ? 2u : 1u); ++part)
              wrong += component(store.blocks[0].bytes.data(), capture.block_layout(), t, c, a, p,
                                 part) != component(sent.bytes.data(), sent.layout,
                                                    t - sent.first_sample, c, a, p, part)
                           ? 1
                           : 0;
    }
    EXPECT_EQ(wrong, 0u) << name;
  }
}

// The packets of several senders together are those of one, and none has many more than another.
TEST(Packetiser, SharesOfSendersAreThePacketsOfOne) {
  auto random = generator();
  for (const std::string_view name : formats::packets::preset_names()) {
    const PacketLayout layout = formats::packets::read_layout(std::string(name));
    core::VoltageDescription d = description_for(layout);
    if (layout.field(Meaning::antenna) != nullptr) d.antennas += layout.extent(AxisName::antenna);
    const auto block = make_block(d, 0, 2 * layout.samples(), layout.sample.bits, random);
    using Sent = std::vector<std::pair<std::uint64_t, std::vector<std::byte>>>;
    const auto send = [&](const stream::SenderShare& share, Sent& sent) {
      stream::Packetiser packetiser(
          layout, d, 10 * layout.step,
          [&](auto packet, std::uint64_t source) {
            sent.push_back({source, {packet.begin(), packet.end()}});
          },
          share);
      packetiser.take(block);
      return packetiser.packets_per_s();
    };
    Sent all;
    const double rate = send({}, all);
    std::sort(all.begin(), all.end());
    const std::size_t payloads = all.size() / layout.parts / 2;  // of a time
    for (const std::uint64_t senders : {std::uint64_t{1}, 1 + random() % payloads, payloads}) {
      Sent together;
      double rates = 0;
      for (std::uint64_t k = 0; k < senders; ++k) {
        Sent share;
        rates += send({k, senders}, share);
        EXPECT_GE(share.size() / layout.parts / 2, payloads / senders) << name << senders;
        EXPECT_LE(share.size() / layout.parts / 2, (payloads - 1) / senders + 1) << name << senders;
        together.insert(together.end(), share.begin(), share.end());
      }
      std::sort(together.begin(), together.end());
      EXPECT_TRUE(together == all) << name << " by " << senders;
      EXPECT_NEAR(rates, rate, rate * 1e-12) << name;
    }
    Sent none;
    for (const stream::SenderShare& share :
         {stream::SenderShare{0, 0}, {0, payloads + 1}, {payloads, payloads}}) {
      const core::Error error = error_of([&] { send(share, none); });
      EXPECT_EQ(error.kind(), core::ErrorKind::config);
      EXPECT_EQ(error.field(), share.sender < payloads ? "senders" : "sender") << name;
    }
    EXPECT_TRUE(none.empty());
  }
}

TEST(Packetiser, InvalidSamplesAreLeftOutOrMarked) {
  auto random = generator();
  for (const char* name : {"mwax", "vdif"}) {
    const PacketLayout layout = formats::packets::read_layout(name);
    const bool marks = layout.field(Meaning::invalid) != nullptr;
    core::VoltageDescription d = description_for(layout);
    d.channels = 1;
    std::vector<std::pair<std::uint64_t, bool>> sent;  // payload, invalid
    stream::Packetiser packetiser(layout, d, 0, [&](auto packet, std::uint64_t source) {
      formats::packets::PacketHeader header;
      ASSERT_EQ(decode(layout, packet, source, header), formats::packets::Refusal::none);
      if (header.input == 1 || header.polarisation == 1)
        sent.emplace_back(header.count, header.invalid);
    });
    auto block = make_block(d, 0, 4 * layout.samples(), layout.sample.bits, random);
    block.invalid = {{1, 2 * layout.samples() + 5, 1}};
    packetiser.take(block);
    // A gap of two payloads and a half; the half at its end is dropped.
    const std::size_t half = layout.samples() / 2;
    packetiser.take(make_block(d, 6 * layout.samples() + half, layout.samples() + half,
                               layout.sample.bits, random));
    packetiser.finish();
    EXPECT_EQ(packetiser.counters().left_out, marks ? 0u : 1u);
    EXPECT_EQ(packetiser.counters().flagged, marks ? 1u : 0u);
    EXPECT_EQ(packetiser.counters().trailing_samples, half);
    std::vector<std::pair<std::uint64_t, bool>> expected{
        {0, false}, {1, false}, {2, true}, {3, false}, {7, false}};
    if (!marks) expected.erase(expected.begin() + 2);
    // Two antennas of VDIF come from two sources, with the same header.
    std::sort(sent.begin(), sent.end());
    sent.erase(std::unique(sent.begin(), sent.end()), sent.end());
    if (marks) std::erase(sent, std::pair<std::uint64_t, bool>{2, false});
    EXPECT_EQ(sent, expected) << name;
  }
}

TEST(Packetiser, RefusesWhatPacketsCannotCarry) {
  const auto refusal = [](const char* name, core::VoltageDescription d) {
    try {
      stream::Packetiser packetiser(formats::packets::read_layout(name), d, 0, {});
    } catch (const core::Error& wrong) {
      return std::string(wrong.what());
    }
    return std::string("taken");
  };
  core::VoltageDescription d = description_for(formats::packets::read_layout("mwax"));
  EXPECT_EQ(refusal("mwax", d), "taken");
  d.format = core::kI8;
  EXPECT_TRUE(refusal("mwax", d).starts_with("layout: mwax, expected one of real samples"));
  d.format = core::kCf32;
  EXPECT_TRUE(refusal("mwax", d).starts_with("samples: "));
  // The voltages have no fields: the layout is what the user chose.
  d = description_for(formats::packets::read_layout("grex"));
  d.antennas = 2;
  EXPECT_EQ(
      refusal("grex", d),
      "layout: grex, expected packets of the 2 antennas that the voltages have; this layout takes "
      "1: packets do not say which they are of; give the layout a field for it");
  d.antennas = 1;
  d.channels = 1000;
  EXPECT_EQ(
      refusal("grex", d),
      "layout: grex, expected packets of the 1000 channels that the voltages have; this layout "
      "takes a multiple of 2048, which a packet's payload has");
}

TEST(Packetiser, ClippedComponentsAreCounted) {
  auto random = generator();
  const PacketLayout layout = formats::packets::read_layout("mwa32t");
  core::VoltageDescription d = description_for(layout);
  stream::Packetiser packetiser(layout, d, 0, [](auto, std::uint64_t) {});
  const auto block = make_block(d, 0, 100, 6, random);
  std::uint64_t outside = 0;
  for (std::size_t k = 0; k < block.bytes.size(); k += 2) {
    const int value = static_cast<std::int8_t>(block.bytes[k]);
    outside += value < -16 || value > 15 ? 1 : 0;
  }
  packetiser.take(block);
  EXPECT_EQ(packetiser.counters().clipped, outside);
  EXPECT_GT(outside, 0u);
}

}  // namespace

// Samples of payloads against a plain reading of their bits, and every placement against a plain loop over its axes.
#include "tautline/formats/packets/wire_samples.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "tautline/core/error.h"
#include "tautline/core/sample_decode.h"
#include "tautline/formats/packets/placement.h"
#include "tests/support/seed.h"

namespace {

using namespace tautline;
using namespace tautline::formats::packets;
using Bytes = std::vector<std::byte>;

Bytes random_payload(std::size_t count, std::mt19937_64& random) {
  Bytes bytes(count);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

// Component k as the definition has it: its container's bits, one by one.
int plain_component(const WireSample& sample, const Bytes& wire, std::size_t k) {
  const auto width = static_cast<std::size_t>(sample.container_bits);
  unsigned container = 0;
  for (std::size_t b = 0; b < width; ++b) {
    const std::size_t at = k * width + b;
    const bool big = sample.order == ByteOrder::big;
    const unsigned bit =
        std::to_integer<unsigned>(wire[at / 8]) >> (big ? 7 - at % 8 : at % 8) & 1u;
    container |= bit << (big ? width - 1 - b : b);
  }
  return core::decode_code(container, sample.bits, sample.encoding);
}

int placed_component(const WireSample& sample, const Bytes& placed, std::size_t k) {
  const core::SampleFormat format = sample.placed();
  return core::decode_integer(placed.data(), k * static_cast<std::size_t>(format.bits), format);
}

TEST(WireSamples, OfEveryWidthAndOrder) {
  auto random = tests::generator();
  constexpr std::size_t kComponents = 336;  // whole bytes of any width
  for (const ByteOrder order : {ByteOrder::big, ByteOrder::little})
    for (const auto encoding : {core::Encoding::twos_complement, core::Encoding::offset_binary})
      for (int bits = 1; bits <= 16; ++bits)
        for (int container = bits; container <= 16; ++container) {
          const WireSample sample{bits, container, false, encoding, order};
          Bytes wire = random_payload(wire_bytes(sample, kComponents), random);
          Bytes placed(placed_bytes(sample, kComponents), std::byte{0xa5});
          from_wire(sample, wire.data(), kComponents, placed.data());
          for (std::size_t k = 0; k < kComponents; ++k)
            ASSERT_EQ(placed_component(sample, placed, k), plain_component(sample, wire, k))
                << core::to_string({bits, false, encoding}) << " in " << container << ", component "
                << k;
          // Back again: bits of a container beyond the sample's are zero.
          Bytes again(wire.size(), std::byte{0x5a});
          to_wire(sample, placed.data(), kComponents, again.data());
          for (std::size_t k = 0; k < kComponents; ++k)
            ASSERT_EQ(plain_component(sample, again, k), plain_component(sample, wire, k));
          if (container == bits) {
            ASSERT_EQ(again, wire);
          }
        }
}

TEST(WireSamples, FloatsAreSwappedAndCopied) {
  for (const ByteOrder order : {ByteOrder::big, ByteOrder::little}) {
    const WireSample sample{32, 32, true, core::Encoding::ieee_float, order};
    const float value = 1.5f;  // 0x3fc00000
    Bytes wire{std::byte{0x3f}, std::byte{0xc0}, std::byte{0}, std::byte{0}};
    if (order == ByteOrder::little) std::reverse(wire.begin(), wire.end());
    float placed = 0;
    from_wire(sample, wire.data(), 1, reinterpret_cast<std::byte*>(&placed));
    EXPECT_EQ(placed, value);
    Bytes again(4);
    to_wire(sample, reinterpret_cast<const std::byte*>(&placed), 1, again.data());
    EXPECT_EQ(again, wire);
  }
}

TEST(WireSamples, WhatDoesNotFitIsClipped) {
  const WireSample sample{5, 8, true, core::Encoding::twos_complement, ByteOrder::little};
  const std::int8_t values[] = {127, -128, 15, -16};
  Bytes wire(4);
  to_wire(sample, reinterpret_cast<const std::byte*>(values), 4, wire.data());
  EXPECT_EQ(wire, (Bytes{std::byte{0x0f}, std::byte{0x10}, std::byte{0x0f}, std::byte{0x10}}));
}

// Every order of axes, with parts: each sample lies where the block's layout says.
TEST(Placements, AreThoseOfAPlainLoop) {
  auto random = tests::generator();
  std::vector<Axis> axes{{AxisName::time, 4},
                         {AxisName::channel, 6},
                         {AxisName::antenna, 3},
                         {AxisName::polarisation, 2}};
  const auto by_name = [](const Axis& a, const Axis& b) { return a.name < b.name; };
  int seen = 0;
  do {
    for (const std::size_t left_out : {0u, 1u, 2u})
      for (const std::size_t parts : {1u, 2u, 4u}) {
        PacketLayout layout;
        layout.axes.assign(axes.begin(), axes.end() - static_cast<std::ptrdiff_t>(left_out));
        layout.sample = {8, 8, true, core::Encoding::twos_complement, ByteOrder::little};
        layout.parts = parts;
        for (const Meaning meaning :
             {Meaning::counter, Meaning::channel, Meaning::antenna, Meaning::polarisation}) {
          Field field;
          field.meaning = meaning;
          layout.fields.push_back(field);
        }
        // Ranges of the slowest axis, or of the second for each place of the slowest.
        const std::size_t slowest = layout.axes[0].extent, second = layout.axes[1].extent;
        const bool parts_are_boxes =
            slowest % parts == 0 || (parts % slowest == 0 && second % (parts / slowest) == 0);
        try {
          Placement placement(
              layout,
              {.samples = 3 * layout.samples(), .channels = 12, .antennas = 6, .polarisations = 4});
          ASSERT_TRUE(parts_are_boxes);
          ++seen;
          Bytes block(placement.block_bytes(), std::byte{0}), expected = block;
          const auto& raw = placement.block_layout();
          std::vector<int> filled(block.size());
          for (std::size_t sample = 0; sample < placement.shape().samples;
               sample += layout.samples())
            for (std::size_t flow = 0; flow < placement.flows(); ++flow) {
              ASSERT_EQ(placement.flow(placement.header(flow)), flow);
              const Bytes payload = random_payload(layout.part_bytes(), random);
              placement.place(flow, sample, payload.data(), block.data());
              Bytes taken(payload.size());
              placement.take(flow, sample, block.data(), taken.data());
              ASSERT_EQ(taken, payload);
              // Sample n of the payload that the part is of, digit by digit.
              const std::size_t part = flow % parts, first = part * layout.part_bytes() / 2;
              const Box& whole = placement.box(flow - part);
              for (std::size_t n = 0; n < payload.size() / 2; ++n) {
                std::size_t rest = first + n, bits = raw.offset_bits;
                std::array<std::size_t, kAxes> at = whole.first;
                for (auto axis = layout.axes.rbegin(); axis != layout.axes.rend(); ++axis) {
                  at[static_cast<std::size_t>(axis->name)] += rest % axis->extent;
                  rest /= axis->extent;
                }
                bits += (sample + at[0]) * raw.time_stride_bits + at[1] * raw.channel_stride_bits +
                        at[2] * raw.antenna_stride_bits + at[3] * raw.polarisation_stride_bits;
                std::copy_n(payload.begin() + static_cast<std::ptrdiff_t>(2 * n), 2,
                            expected.begin() + static_cast<std::ptrdiff_t>(bits / 8));
                ++filled[bits / 8];
              }
            }
          ASSERT_EQ(block, expected);
          for (std::size_t k = 0; k < filled.size(); k += 2) ASSERT_EQ(filled[k], 1) << k;
        } catch (const core::Error& wrong) {
          ASSERT_EQ(wrong.field(), "packets");
          ASSERT_FALSE(parts_are_boxes);
        }
      }
  } while (std::next_permutation(axes.begin(), axes.end(), by_name));
  EXPECT_GT(seen, 100);
}

}  // namespace

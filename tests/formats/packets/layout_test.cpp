// Layouts from TOML: what is read, and how wrong ones are refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tautline/core/error.h"
#include "tautline/formats/packets/packet_layout.h"
#include "tautline/formats/packets/placement.h"
#include "tests/support/error_of.h"
#include "tests/support/seed.h"

namespace {

using namespace tautline;
using namespace tautline::formats::packets;

const std::string kLayoutHead = R"(header_bytes = 16
axes = [[64, "channel"], [32, "time"]]
sample = "ci8"
step = 32
)";
const std::string kLayoutCounter = "counter = { offset_bits = 16, bits = 48 }\n";

// The message that refuses this text.
std::string layout_refusal(const std::string& text) {
  try {
    parse_layout(text, "wrong.toml");
  } catch (const core::Error& wrong) {
    return wrong.what();
  }
  return "read";
}

TEST(PacketLayouts, AreRead) {
  const PacketLayout layout = parse_layout(
      kLayoutHead + "about = \"test\"\nbyte_order = \"little\"\n[fields]\n" + kLayoutCounter +
          "magic = { offset_bits = 0, bits = 12, value = 0xabc, byte_order = \"big\" }\n"
          "antenna = { offset_bits = 64, bits = 7, scale = 2, add = -4 }\n",
      "test.toml");
  EXPECT_EQ(layout.name, "test.toml");
  EXPECT_EQ(layout.about, "test");
  EXPECT_EQ(layout.samples(), 32u);
  EXPECT_EQ(layout.extent(AxisName::channel), 64u);
  EXPECT_EQ(layout.extent(AxisName::polarisation), 1u);
  EXPECT_EQ(layout.payload_bytes(), 64u * 32 * 2);
  EXPECT_EQ(layout.period, std::uint64_t{1} << 48);
  ASSERT_NE(layout.field(Meaning::counter), nullptr);
  EXPECT_EQ(layout.field(Meaning::counter)->order, ByteOrder::little);
  EXPECT_EQ(layout.field(Meaning::constant)->order, ByteOrder::big);
  EXPECT_EQ(layout.field(Meaning::antenna)->scale, 2);
  EXPECT_EQ(layout.field(Meaning::antenna)->add, -4);
}

TEST(PacketLayouts, FieldsOfAnyWidthAtAnyBit) {
  for (const char* order : {"big", "little"})
    for (std::size_t offset = 0; offset < 16; ++offset)
      for (std::size_t bits = 1; bits <= 64 - offset % 8; ++bits) {
        const PacketLayout layout = parse_layout(
            std::string(
                "header_bytes = 12\naxes = [[1, \"time\"]]\nsample = \"ci8\"\nbyte_order = \"") +
                order + "\"\nfields.counter = { offset_bits = " + std::to_string(offset) +
                ", bits = " + std::to_string(bits) + " }",
            "test.toml");
        const std::vector<std::byte> payload(2, std::byte{0x5a});
        PacketHeader header;
        header.count = 0x9d3c'57a1'e0f4'8b26u &
                       (bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1);
        header.payload = payload;
        std::vector<std::byte> packet;
        encode(layout, header, packet);
        PacketHeader again;
        ASSERT_EQ(decode(layout, packet, 0, again), Refusal::none);
        ASSERT_EQ(again.count, header.count) << order << offset << ' ' << bits;
        // Bit by bit, as the definition has it; every other bit is 0.
        for (std::size_t b = 0; b < 96; ++b) {
          const bool big = order == std::string("big");
          const std::size_t at = big ? 7 - b % 8 : b % 8;
          const bool set = (std::to_integer<unsigned>(packet[b / 8]) >> at & 1) != 0;
          bool wanted = false;
          if (b >= offset && b < offset + bits)
            wanted = (header.count >> (big ? offset + bits - 1 - b : b - offset) & 1) != 0;
          ASSERT_EQ(set, wanted) << order << offset << ' ' << bits << " bit " << b;
        }
      }
}

TEST(PacketLayouts, SubArraysAreReadAsWritten) {
  const PacketLayout layout = parse_layout(
      kLayoutHead + "[fields]\n" + kLayoutCounter + "sub_array = { offset_bits = 64, bits = 12 }\n",
      "shared.toml");
  const std::vector<std::byte> payload(layout.part_bytes());
  for (const std::uint64_t array : {0u, 1u, 0x5a3u, 0xfffu}) {
    PacketHeader header, again;
    header.sub_array = array;
    header.payload = payload;
    std::vector<std::byte> packet;
    encode(layout, header, packet);
    ASSERT_EQ(decode(layout, packet, 0, again), Refusal::none);
    EXPECT_EQ(again.sub_array, array);
    EXPECT_EQ(std::to_integer<unsigned>(packet[8]), array >> 4);  // big-endian
  }
}

TEST(PacketLayouts, BeginWithAPreset) {
  const PacketLayout mine = parse_layout(
      "like = \"ata-snap\"\naxes = [[64, \"channel\"], [16, \"time\"]]\n"
      "fields.antenna = { offset_bits = 48, bits = 8 }",
      "mine.toml");
  const PacketLayout preset = read_layout("ata-snap");
  EXPECT_EQ(mine.extent(AxisName::channel), 64u);
  EXPECT_EQ(mine.extent(AxisName::polarisation), 1u);
  EXPECT_EQ(mine.step, preset.step);
  EXPECT_EQ(mine.rate_hz, preset.rate_hz);
  EXPECT_EQ(mine.fields.size(), preset.fields.size());
  EXPECT_EQ(mine.field(Meaning::antenna)->bits, 8u);
  EXPECT_EQ(mine.field(Meaning::channel)->bits, 16u);
  EXPECT_EQ(layout_refusal("like = \"atasnap\""),
            "wrong.toml: like (line 1): atasnap, expected one of ata-snap, counts, filterbank, "
            "grex, lofar, "
            "meerkat-digitiser, "
            "meerkat-f, mwa32t-1byte, mwa32t, mwax, vdif-vtp, vdif; did you mean ata-snap");
}

TEST(PacketLayouts, WrongOnesAreRefusedWithLineAndAdvice) {
  EXPECT_EQ(layout_refusal(kLayoutHead + "[fields]\n" + kLayoutCounter +
                           "antena = { offset_bits = 0, bits = 8 }"),
            "wrong.toml: [fields]: antena (line 7): a field of no known meaning, expected one of "
            "counter, seconds, "
            "half_years, antenna, channel, polarisation, input, sub_array, heap_offset, "
            "heap_bytes, payload_bytes, "
            "invalid, or a constant with its `value`");
  EXPECT_EQ(layout_refusal(kLayoutHead + "[fields]\nantenna = { offset_bits = 0, bits = 8 }"),
            "wrong.toml: fields (line 5): no counter, expected a field named counter");
  EXPECT_EQ(layout_refusal(kLayoutHead + "[fields]\ncounter = { offset_bits = 96, bits = 48 }"),
            "wrong.toml: [fields]: [counter]: bits (line 6): up to bit 144, expected inside the "
            "header of 128 bits");
  EXPECT_EQ(layout_refusal(kLayoutHead + "[fields]\ncounter = { offset_bits = 7, bits = 58 }"),
            "wrong.toml: [fields]: [counter]: bits (line 6): 58, expected a field inside 8 bytes");
  EXPECT_EQ(layout_refusal(kLayoutHead + "[fields]\ncounter = { item = 0x1600 }"),
            "wrong.toml: [fields]: [counter]: item (line 6): given, expected spead = true; or give "
            "offset_bits and bits");
  EXPECT_EQ(layout_refusal(kLayoutHead + "[fields]\n" + kLayoutCounter +
                           "magic = { offset_bits = 0, bits = 4, value = 16 }"),
            "wrong.toml: [fields]: [magic]: value (line 7): 16, expected at most 4 bits");
  EXPECT_EQ(layout_refusal(kLayoutHead + "[fields]\n" + kLayoutCounter + "antenna = 3"),
            "wrong.toml: [fields]: antenna (line 7): no table, expected { offset_bits = 0, bits = "
            "16 }, or { item = "
            "0x1600 } of SPEAD");
  EXPECT_EQ(layout_refusal(kLayoutHead + "[fields]\n" + kLayoutCounter +
                           "seconds = { offset_bits = 64, bits = 32 }"),
            "wrong.toml: rate_hz: missing, expected samples a second: the layout counts seconds");
  EXPECT_EQ(
      layout_refusal(kLayoutHead + "step_counts = 3\n[fields]\n" + kLayoutCounter).substr(0, 51),
      "wrong.toml: step_counts (line 5): unknown field, ex");
  EXPECT_EQ(layout_refusal("header_bytes = 8\naxes = [[4, \"beam\"]]\nsample = "
                           "\"ci8\"\n[fields]\ncounter = { offset_bits = "
                           "0, bits = 16 }"),
            "wrong.toml: axes (line 2): beam, expected each of time, channel, antenna, "
            "polarisation once at most");
  EXPECT_EQ(layout_refusal("header_bytes = 8\naxes = [[4, \"time\"]]\nsample = \"ci8b\""),
            "wrong.toml: sample (line 3): ci8b, expected i, u (offset binary) or f and bits, after "
            "c where complex: ci8, "
            "u2, i10, cf32");
  EXPECT_EQ(layout_refusal("header_bytes = 8\naxes = [[4, \"time\"]]\nsample = \"i17\""),
            "wrong.toml: sample (line 3): i17, expected 1 to 16 bits, floats 16 or 32");
  EXPECT_EQ(layout_refusal("header_bytes = 8\naxes = [[3, \"time\"]]\nsample = \"i2\"\n[fields]\n" +
                           kLayoutCounter),
            "wrong.toml: packets: 6 bits in 1 packet, expected packets of whole bytes, all of one "
            "length");
  EXPECT_EQ(layout_refusal(kLayoutHead + "packets = 2\n[fields]\n" + kLayoutCounter),
            "wrong.toml: packets (line 5): 2, expected 1, or a field named heap_offset");
  EXPECT_EQ(
      layout_refusal(kLayoutHead + "spead = true\n[fields]\n" + kLayoutCounter),
      "wrong.toml: payload_item: missing, expected the number of the item that holds the samples");
  EXPECT_EQ(layout_refusal("like = \"mwa32t\"\ncontainer_bits = 16"),
            "wrong.toml: sample: missing, expected a text in quotes");
  EXPECT_EQ(
      layout_refusal(kLayoutHead + "rate_hz = 9e17\n[fields]\n" + kLayoutCounter),
      "wrong.toml: rate_hz (line 5): 9e+17, expected a rate of fewer digits, or a smaller step");
  EXPECT_NE(layout_refusal("axes = [\n"), "read");
}

TEST(PacketLayouts, NamesAndFiles) {
  const core::Error wrong = tests::error_of([&] { read_layout("mwx"); });
  EXPECT_EQ(wrong.kind(), core::ErrorKind::config);
  EXPECT_EQ(wrong.value(), "mwx");
  EXPECT_NE(wrong.limit().find("mwax"), std::string::npos);
  EXPECT_THROW(read_layout("/nowhere/telescope.toml"), core::Error);
  const std::string folder =
      std::string(TAUTLINE_SOURCE_DIR) + "/tautline/formats/packets/presets/";
  for (const std::string_view name : preset_names()) {
    const PacketLayout file = read_layout(folder + std::string(name) + ".toml");
    EXPECT_EQ(file.payload_bytes(), read_layout(std::string(name)).payload_bytes()) << name;
  }
}

TEST(PacketLayouts, SendersAreToldWhatDoesNotFit) {
  const PacketLayout layout = read_layout("mwax");
  const std::vector<std::byte> payload(4096);
  PacketHeader header;
  header.channel = 256;
  header.payload = payload;
  std::vector<std::byte> packet;
  const core::Error wrong = tests::error_of([&] { encode(layout, header, packet); });
  EXPECT_EQ(wrong.field(), "channel");
  EXPECT_EQ(wrong.value(), "256");
  header.channel = 0;
  header.payload = {};
  EXPECT_THROW(encode(layout, header, packet), core::Error);
}

// Layouts with some characters changed are refused with a reason, or read packets that are as wrong, and nothing worse.
TEST(PacketLayouts, DamagedOnesAreRefusedOrHarmless) {
  auto random = tests::generator();
  int refused = 0, read = 0;
  for (const std::string_view name : preset_names())
    for (int k = 0; k < 200; ++k) {
      std::string text(preset_text(name));
      for (std::uint64_t n = 1 + random() % 3; n > 0; --n)
        text[random() % text.size()] = "0123456789abx,={}[]\"\n"[random() % 22];
      try {
        const PacketLayout layout = parse_layout(text, "damaged.toml");
        ++read;
        std::vector<std::byte> packet(layout.header_bytes +
                                      std::min<std::size_t>(layout.part_bytes(), 70000));
        for (std::byte& byte : packet) byte = static_cast<std::byte>(random());
        PacketHeader header;
        decode(layout, packet, random(), header);
        if (layout.payload_bytes() > 100000) continue;
        const std::vector<std::byte> payload(layout.part_bytes());
        header.payload = payload;
        Placement placement(layout, {.samples = layout.samples()});
        encode(layout, header, packet);
      } catch (const core::Error& wrong) {
        ++refused;
        EXPECT_FALSE(wrong.field().empty());
      }
    }
  EXPECT_GT(refused, 100);
  EXPECT_GT(read, 100);
}

}  // namespace

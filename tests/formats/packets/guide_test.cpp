// docs/guide/packets.md: its layout reads its packet as the page says, and every preset is in its table.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "tautline/core/error.h"
#include "tautline/formats/packets/packet_layout.h"
#include "tests/support/error_of.h"

namespace {

using namespace tautline;
using namespace tautline::formats::packets;

const std::string& packet_guide() {
  static const std::string text = [] {
    std::ifstream file(TAUTLINE_SOURCE_DIR "/docs/guide/packets.md");
    return std::string{std::istreambuf_iterator<char>(file), {}};
  }();
  return text;
}

// The text of the n-th block of code in a language.
std::string code_block_of(const std::string& language, int n) {
  std::size_t begin = 0;
  for (const std::string fence = "```" + language + "\n"; n >= 0; --n) {
    begin = packet_guide().find(fence, begin);
    if (begin == std::string::npos) return {};
    begin += fence.size();
  }
  return packet_guide().substr(begin, packet_guide().find("```", begin) - begin);
}

TEST(PacketGuide, ItsLayoutReadsItsPacket) {
  const std::string text = code_block_of("toml", 0);
  EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 20);
  const PacketLayout layout = parse_layout(text, "hilltop.toml");
  std::vector<std::byte> packet;
  std::istringstream digits(code_block_of("text", 0));
  for (unsigned byte = 0; digits >> std::hex >> byte;)
    packet.push_back(static_cast<std::byte>(byte));
  ASSERT_EQ(packet.size(), 16u);
  packet.resize(8208);
  PacketHeader header;
  ASSERT_EQ(to_string(decode(layout, packet, 0, header)), "none");
  EXPECT_EQ(header.count, 1'000'000'000u);
  EXPECT_EQ(header.antenna, 3u);
  EXPECT_EQ(header.channel, 128u);
  EXPECT_FALSE(header.invalid);
  EXPECT_EQ(header.payload.size(), 8192u);
  EXPECT_EQ(core::to_iso(*instant_of(layout, header.count)), "2026-11-23T12:16:40.000000");
  std::vector<std::byte> again;
  encode(layout, header, again);
  EXPECT_EQ(again, packet);
  packet[3] = std::byte{1};
  EXPECT_EQ(decode(layout, packet, 0, header), Refusal::none);
  EXPECT_TRUE(header.invalid);
  packet[2] = std::byte{2};
  EXPECT_EQ(decode(layout, packet, 0, header), Refusal::wrong_constant);
}

TEST(PacketGuide, ItsMistakeIsRefusedAsItSays) {
  std::string text = code_block_of("toml", 0);
  const std::string right = "counter = { offset_bits = 32", wrong = "counter = { offset_bits = 96";
  text.replace(text.find(right), right.size(), wrong);
  const core::Error refused = tests::error_of([&] { parse_layout(text, "hilltop.toml"); });
  EXPECT_EQ(std::string(refused.what()) + "\n", code_block_of("text", 1));
}

TEST(PacketGuide, HasEveryPreset) {
  for (const std::string_view name : preset_names()) {
    const std::string row =
        "| `" + std::string(name) + "` | " + read_layout(std::string(name)).about + " |\n";
    EXPECT_NE(packet_guide().find(row), std::string::npos)
        << "docs/guide/packets.md has no row " << row;
  }
}

}  // namespace

// Packets whose lengths, sizes and places lie: refused by a reason, or read inside of their bytes alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tautline/formats/packets/placement.h"
#include "tests/support/seed.h"

namespace tautline::formats::packets {
namespace {

using LyingBytes = std::vector<std::byte>;

LyingBytes honest_packet(const PacketLayout& layout, std::mt19937_64& random) {
  const Placement placement(layout, {.samples = layout.samples()});
  PacketHeader header = placement.header(random() % placement.flows());
  header.count = random() % 1000 * layout.step;
  const LyingBytes payload(layout.part_bytes(), std::byte{7});
  header.payload = payload;
  LyingBytes packet;
  encode(layout, header, packet);
  return packet;
}

// On the heap and no longer than it is, so that a sanitizer sees every byte that is read outside.
Refusal refusal_of(const PacketLayout& layout, const LyingBytes& packet) {
  const LyingBytes exact(packet.begin(), packet.end());
  PacketHeader header;
  const Refusal refusal = decode(layout, exact, 0, header);
  if (refusal != Refusal::none) return refusal;
  EXPECT_EQ(header.payload.size(), layout.part_bytes());
  EXPECT_GE(header.payload.data(), exact.data());
  EXPECT_LE(header.payload.data() + header.payload.size(), exact.data() + exact.size());
  return refusal;
}

TEST(LyingPackets, AreReadInsideOfTheirBytesAlone) {
  auto random = tests::generator();
  for (const std::string_view name : preset_names()) {
    const PacketLayout layout = read_layout(std::string(name));
    const LyingBytes honest = honest_packet(layout, random);
    ASSERT_EQ(refusal_of(layout, honest), Refusal::none) << name;
    std::size_t refused = 0;
    for (int k = 0; k < 3000; ++k) {
      LyingBytes packet = honest;
      const std::size_t header = packet.size() - layout.part_bytes();
      for (std::size_t n = 1 + random() % 3; n > 0 && header > 0; --n) {
        const std::byte extremes[] = {std::byte{0}, std::byte{0x7f}, std::byte{0x80},
                                      std::byte{0xff}, static_cast<std::byte>(random())};
        // A run, as a field is.
        const std::size_t at = random() % header, end = std::min(header, at + 1 + random() % 8);
        std::fill(packet.begin() + static_cast<std::ptrdiff_t>(at),
                  packet.begin() + static_cast<std::ptrdiff_t>(end), extremes[random() % 5]);
      }
      if (random() % 3 == 0) packet.resize(random() % (2 * packet.size()));
      refused += refusal_of(layout, packet) != Refusal::none ? 1 : 0;
    }
    EXPECT_GT(refused, 0U) << name;
  }
}

// Each of the lengths that a SPEAD packet says of itself, one at a time, by every kind of lie.
TEST(LyingPackets, SpeadSaysItsLengthsTruly) {
  auto random = tests::generator();
  const PacketLayout layout = read_layout("meerkat-f");
  const LyingBytes honest = honest_packet(layout, random);
  const auto items = std::to_integer<std::size_t>(honest[7]);
  const auto word_of = [&](unsigned id) {  // byte of the item's value
    for (std::size_t k = 0; k < items; ++k) {
      const unsigned is = (std::to_integer<unsigned>(honest[8 + 8 * k]) << 8 |
                           std::to_integer<unsigned>(honest[9 + 8 * k])) &
                          0x7fffU;
      if (is == id) return 8 + 8 * k + 2;
    }
    ADD_FAILURE() << "no item " << id;
    return std::size_t{10};
  };
  const auto with = [&](std::size_t at, std::uint64_t value) {
    LyingBytes packet = honest;
    for (std::size_t k = 0; k < 6; ++k)
      packet[at + k] = static_cast<std::byte>(value >> (40 - 8 * k));
    return packet;
  };
  constexpr std::uint64_t kMost = (std::uint64_t{1} << 48) - 1;
  const std::uint64_t part = layout.part_bytes();
  for (const std::uint64_t lie :
       {std::uint64_t{0}, std::uint64_t{1}, part - 1, part + 1, 4 * part, std::uint64_t{1} << 31,
        std::uint64_t{1} << 47, kMost - 7, kMost}) {
    EXPECT_EQ(refusal_of(layout, with(word_of(4), lie)), Refusal::wrong_payload_size) << lie;
    // A heap may hold more than the samples, which take no more memory for it; 0: its sender does not know yet.
    const Refusal of_heap = refusal_of(layout, with(word_of(2), lie));
    if (lie == 0) continue;
    if (lie < layout.payload_bytes()) {
      EXPECT_NE(of_heap, Refusal::none) << lie;
    }
    EXPECT_EQ(refusal_of(layout, with(word_of(3), lie)), Refusal::wrong_offset) << lie;
  }
  for (const unsigned count : {0U, 1U, 3U, 200U, 65535U}) {
    LyingBytes packet = honest;
    packet[6] = static_cast<std::byte>(count >> 8);
    packet[7] = static_cast<std::byte>(count);
    EXPECT_NE(refusal_of(layout, packet), Refusal::none) << count;
  }
  for (std::size_t length = 0; length < honest.size(); ++length) {
    const LyingBytes cut(honest.begin(), honest.begin() + static_cast<std::ptrdiff_t>(length));
    ASSERT_NE(refusal_of(layout, cut), Refusal::none) << length;
  }
}

}  // namespace
}  // namespace tautline::formats::packets

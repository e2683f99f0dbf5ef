// A packet of every preset, its header's bytes written by hand from what each instrument's documents say.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "tautline/formats/packets/packet_layout.h"
#include "tautline/formats/packets/placement.h"

namespace {

using namespace tautline;
using namespace tautline::formats::packets;
using Bytes = std::vector<std::byte>;

Bytes golden_packet(std::initializer_list<int> header, std::size_t payload_bytes) {
  Bytes bytes;
  for (const int byte : header) bytes.push_back(static_cast<std::byte>(byte));
  for (std::size_t k = 0; k < payload_bytes; ++k)
    bytes.push_back(static_cast<std::byte>(k * 7 + k / 256));
  return bytes;
}

PacketHeader decoded_golden(const PacketLayout& layout, const Bytes& packet,
                            std::uint64_t source = 0) {
  PacketHeader header;
  EXPECT_EQ(to_string(decode(layout, packet, source, header)), "none") << layout.name;
  return header;
}

// A packet that is decoded and encoded again is the same packet, and one byte less or more is refused.
void expect_packet_round_trip(const PacketLayout& layout, const Bytes& packet,
                              std::uint64_t source = 0) {
  const PacketHeader header = decoded_golden(layout, packet, source);
  Bytes again;
  encode(layout, header, again);
  EXPECT_EQ(again, packet) << layout.name;
  PacketHeader unused;
  Bytes changed = packet;
  changed.pop_back();
  EXPECT_NE(decode(layout, changed, source, unused), Refusal::none) << layout.name;
  changed = packet;
  changed.push_back(std::byte{0});
  EXPECT_NE(decode(layout, changed, source, unused), Refusal::none) << layout.name;
}

TEST(GoldenPackets, MeerkatFEngine) {
  const PacketLayout layout = read_layout("meerkat-f");
  const Bytes packet =
      golden_packet({0x53, 0x04, 0x02, 0x06, 0,    0,    0,    8,     // 8 items
                     0x80, 0x01, 0,    0,    0,    0x12, 0x34, 0x56,  // heap
                     0x80, 0x02, 0,    0,    0,    0,    0x40, 0,     // heap of 16384 bytes
                     0x80, 0x03, 0,    0,    0,    0,    0x20, 0,     // offset 8192
                     0x80, 0x04, 0,    0,    0,    0,    0x20, 0,     // 8192 bytes here
                     0x96, 0x00, 0x01, 0x23, 0x45, 0x60, 0,    0,     // timestamp
                     0xc1, 0x01, 0,    0,    0,    0,    0,    0x2a,  // F-engine 42
                     0xc1, 0x03, 0,    0,    0,    0,    0x0f, 0xf0,  // channel 4080
                     0x43, 0x00, 0,    0,    0,    0,    0,    0},    // addressed, at 0
                    8192);
  const PacketHeader header = decoded_golden(layout, packet);
  EXPECT_EQ(header.count, 0x012345600000u);
  EXPECT_EQ(header.antenna, 42u);
  EXPECT_EQ(header.channel, 4080u);
  EXPECT_EQ(header.part, 1u);
  EXPECT_EQ(header.payload.data(), packet.data() + 72);
  EXPECT_EQ(header.payload.size(), 8192u);
  EXPECT_EQ(layout.period, std::uint64_t{1} << 48);
  EXPECT_EQ(layout.counts_hz(), core::make_rational(1'712'000'000, 1));

  // Every item that is read must be there, and lengths must be true.
  PacketHeader unused;
  for (const std::size_t item : {3u, 4u, 5u, 6u, 7u, 8u}) {
    Bytes other = packet;
    other[8 * item + 1] ^= std::byte{0x08};  // another item's number
    EXPECT_NE(decode(layout, other, 0, unused), Refusal::none) << item;
  }
  Bytes lying = packet;
  lying[8 * 4 + 6] = std::byte{0x21};
  EXPECT_EQ(decode(layout, lying, 0, unused), Refusal::wrong_payload_size);
  lying = packet;
  lying[8 * 3 + 7] = std::byte{8};
  EXPECT_NE(decode(layout, lying, 0, unused), Refusal::none);
  lying = packet;
  lying[6] = std::byte{0xff};  // 65288 items
  EXPECT_EQ(decode(layout, lying, 0, unused), Refusal::out_of_range);
}

// The sender's timestamp lies in the heap, behind the samples.
TEST(GoldenPackets, SpeadItemMayBeAddressed) {
  const PacketLayout layout = parse_layout(R"(
spead = true
payload_item = 0x4300
axes = [[4, "time"]]
sample = "ci8"
fields = { counter = { item = 0x1600 } })",
                                           "addressed.toml");
  Bytes packet = golden_packet({0x53, 0x04, 0x02, 0x06, 0, 0, 0, 5,   //
                                0x80, 0x02, 0,    0,    0, 0, 0, 14,  //
                                0x80, 0x03, 0,    0,    0, 0, 0, 0,   //
                                0x80, 0x04, 0,    0,    0, 0, 0, 14,  //
                                0x16, 0x00, 0,    0,    0, 0, 0, 8,   // at byte 8
                                0x43, 0x00, 0,    0,    0, 0, 0, 0},
                               8);
  for (const int byte : {1, 2, 3, 4, 5, 6}) packet.push_back(static_cast<std::byte>(byte));
  const PacketHeader header = decoded_golden(layout, packet);
  EXPECT_EQ(header.count, 0x010203040506u);
  EXPECT_EQ(header.payload.size(), 8u);
  // One that points behind the packet is not read.
  PacketHeader unused;
  packet[8 * 4 + 7] = std::byte{9};
  EXPECT_EQ(decode(layout, packet, 0, unused), Refusal::missing_item);
  packet[8 * 4 + 2] = std::byte{0xff};
  EXPECT_EQ(decode(layout, packet, 0, unused), Refusal::missing_item);
}

TEST(GoldenPackets, MeerkatDigitiser) {
  const PacketLayout layout = read_layout("meerkat-digitiser");
  Bytes packet =
      golden_packet({0x53, 0x04, 0x02, 0x06, 0,    0,    0,    8,  //
                     0x80, 0x01, 0,    0,    0,    0,    0,    9,  //
                     0x80, 0x02, 0,    0,    0,    0,    0x14, 0,  // 5120 bytes
                     0x80, 0x03, 0,    0,    0,    0,    0,    0,  //
                     0x80, 0x04, 0,    0,    0,    0,    0x14, 0,  //
                     0x96, 0x00, 0xff, 0xff, 0xff, 0xff, 0xf0, 0,  // the last before a wrap
                     0xb1, 0x01, 0,    0,    0,    0,    0,    7,  // digitiser
                     0xb1, 0x02, 0,    0,    0,    0,    0,    0,  // its status
                     0x33, 0x00, 0,    0,    0,    0,    0,    0},
                    5120);
  // 1, -1, 511, -512, each 10 bits, the first in the highest.
  const int samples[] = {0x00, 0x7f, 0xf7, 0xfe, 0x00};
  for (std::size_t k = 0; k < 5; ++k) packet[72 + k] = static_cast<std::byte>(samples[k]);
  const PacketHeader header = decoded_golden(layout, packet, 3);
  EXPECT_EQ(header.count, 0xfffffffff000u);
  EXPECT_EQ(header.input, 3u);
  Placement placement(layout, {.samples = 8192, .antennas = 2, .polarisations = 2});
  EXPECT_EQ(placement.block_layout().format, core::kI16);
  const auto flow = placement.flow(header);
  ASSERT_TRUE(flow.has_value());
  std::vector<std::int16_t> block(4 * 8192, -9999);
  placement.place(*flow, 4096, header.payload.data(), reinterpret_cast<std::byte*>(block.data()));
  const std::int16_t* placed = block.data() + 3 * 8192 + 4096;
  EXPECT_EQ(placed[0], 1);
  EXPECT_EQ(placed[1], -1);
  EXPECT_EQ(placed[2], 511);
  EXPECT_EQ(placed[3], -512);
  EXPECT_EQ(placed[-1], -9999);
  EXPECT_EQ(placement.source(*flow), 3u);
  Bytes again(layout.part_bytes());
  placement.take(*flow, 4096, reinterpret_cast<const std::byte*>(block.data()), again.data());
  EXPECT_TRUE(std::equal(again.begin(), again.end(), header.payload.begin()));
}

void expect_vdif_header(const PacketLayout& layout, const Bytes& packet) {
  const PacketHeader header = decoded_golden(layout, packet);
  // 2026-07-01 is half-year 53; 9678 days from 2000-01-01.
  EXPECT_EQ(header.count, (std::uint64_t{9678} * 86400 + 0x00c20304) * 2000 + 1999);
  EXPECT_EQ(header.polarisation, 1u);
  EXPECT_FALSE(header.invalid);
  EXPECT_EQ(layout.period, std::uint64_t{11688} * 86400 * 2000);
  const auto time = instant_of(layout, header.count);
  ASSERT_TRUE(time.has_value());
  EXPECT_EQ(core::to_iso(*time), "2026-11-25T03:52:36.999500");
}

TEST(GoldenPackets, Vdif) {
  const PacketLayout layout = read_layout("vdif");
  Bytes packet = golden_packet({0x04, 0x03, 0xc2, 0x00,  // seconds
                                0xcf, 0x07, 0x00, 53,    // frame 1999, half-year
                                0xec, 0x03, 0x00, 0x00,  // 1004 x 8 bytes, one channel
                                0x00, 0x00, 0x01, 0x04,  // station 0, thread 1, 2 bits, real
                                0,    0,    0,    0,    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
                               8000);
  expect_vdif_header(layout, packet);
  expect_packet_round_trip(layout, packet);
  packet[3] |= std::byte{0x80};
  EXPECT_TRUE(decoded_golden(layout, packet).invalid);
  PacketHeader unused;
  packet[8] = std::byte{0xed};  // another length
  EXPECT_EQ(decode(layout, packet, 0, unused), Refusal::wrong_payload_size);
  packet[8] = std::byte{0xec};
  packet[15] = std::byte{0x08};  // 3 bits
  EXPECT_EQ(decode(layout, packet, 0, unused), Refusal::wrong_constant);
}

TEST(GoldenPackets, VdifBehindVtp) {
  const PacketLayout layout = read_layout("vdif-vtp");
  const Bytes packet =
      golden_packet({0xd2, 0x02, 0x96, 0x49, 0,    0,    0,    0,   // the datagram's number
                     0x04, 0x03, 0xc2, 0x00, 0xcf, 0x07, 0x00, 53,  //
                     0xec, 0x03, 0x00, 0x00, 0x00, 0x00, 0x01, 0x04, 0, 0, 0, 0, 0, 0, 0, 0,  //
                     0,    0,    0,    0,    0,    0,    0,    0},
                    8000);
  expect_vdif_header(layout, packet);
  EXPECT_EQ(decoded_golden(layout, packet).payload.data(), packet.data() + 40);
}

TEST(GoldenPackets, Mwax) {
  const PacketLayout layout = read_layout("mwax");
  // GPS second 1400000000 = 2024-05-17T16:53:02 UTC.
  const Bytes packet = golden_packet({0x20, 121, 0x01, 0x0f, 0x53, 0x72, 0x4e, 0x00,  //
                                      0x02, 0x70, 0, 0, 0, 0, 0, 0},
                                     4096);
  const PacketHeader header = decoded_golden(layout, packet);
  EXPECT_EQ(header.count, std::uint64_t{1'400'000'000} * 625 + 624);
  EXPECT_EQ(header.input, 271u);
  EXPECT_EQ(header.channel, 121u);
  EXPECT_EQ(core::to_iso(*instant_of(layout, header.count - 624)), "2024-05-17T16:53:02.000000");
  expect_packet_round_trip(layout, packet);
  Bytes other = packet;
  PacketHeader unused;
  other[0] = std::byte{0};  // no voltages
  EXPECT_EQ(decode(layout, other, 0, unused), Refusal::wrong_constant);
  other[0] = std::byte{0x20};
  other[8] = std::byte{0x03};  // packet 880 of a second of 625
  EXPECT_EQ(decode(layout, other, 0, unused), Refusal::out_of_range);
}

TEST(GoldenPackets, AtaSnap) {
  const PacketLayout layout = read_layout("ata-snap");
  Bytes packet = golden_packet({0, 0, 0, 0, 0x01, 0x00, 0x00, 0x05,  // channel 256, F-engine 5
                                0, 0, 0, 0x3f, 0xff, 0xff, 0xff, 0xf0},
                               8192);
  packet[16 + 32] = std::byte{0x7f};  // channel 1, time 0: 7 - 1i
  const PacketHeader header = decoded_golden(layout, packet);
  EXPECT_EQ(header.count, 0x3ffffffff0u);
  EXPECT_EQ(header.channel, 256u);
  EXPECT_EQ(header.antenna, 5u);
  expect_packet_round_trip(layout, packet);
  Placement placement(layout, {.samples = 32, .channels = 512, .antennas = 6});
  Bytes block(placement.block_bytes());
  placement.place(placement.flow(header).value(), 16, header.payload.data(), block.data());
  // [antenna][channel][time][polarisation], the real part in the low half
  EXPECT_EQ(block[((5 * 512 + 257) * 32 + 16) * 2], std::byte{0xf7});
}

TEST(GoldenPackets, Grex) {
  const PacketLayout layout = read_layout("grex");
  const Bytes packet = golden_packet({0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe}, 8192);
  EXPECT_EQ(decoded_golden(layout, packet).count, 0xfffffffffffffffeu);
  EXPECT_EQ(layout.period, 0u);
  expect_packet_round_trip(layout, packet);
  Placement placement(layout, {.samples = 4});
  Bytes block(placement.block_bytes());
  const PacketHeader header = decoded_golden(layout, packet);
  placement.place(0, 3, header.payload.data(), block.data());
  EXPECT_TRUE(std::equal(header.payload.begin(), header.payload.end(), block.begin() + 3 * 8192));
}

TEST(GoldenPackets, Lofar) {
  const PacketLayout layout = read_layout("lofar");
  // Station 601, 8 bits, 200 MHz, 122 beamlets, 16 blocks, second 1700000001, block 195297.
  const Bytes packet = golden_packet({3, 0x80, 0x01, 0, 0x59, 0x02, 122, 16,  //
                                      0x01, 0xf1, 0x53, 0x65, 0xe1, 0xfa, 0x02, 0x00},
                                     7808);
  const PacketHeader header = decoded_golden(layout, packet, 2);
  // (seconds x 200e6 + 512) / 1024 + block
  EXPECT_EQ(header.count, (std::uint64_t{1'700'000'001} * 200'000'000 + 512) / 1024 + 195297);
  EXPECT_EQ(header.channel, 244u);
  EXPECT_FALSE(header.invalid);
  Bytes other = packet;
  other[1] |= std::byte{0x40};  // payload error
  EXPECT_TRUE(decoded_golden(layout, other, 2).invalid);
}

TEST(GoldenPackets, Mwa32t) {
  const PacketLayout layout = read_layout("mwa32t");
  EXPECT_EQ(layout.period, 65536u);
  Bytes packet = golden_packet({0xfe, 0xff}, 32);
  packet[2] = std::byte{0x0f};  // 15 - 16i
  packet[3] = std::byte{0x10};
  const PacketHeader header = decoded_golden(layout, packet, 3);
  EXPECT_EQ(header.count, 65534u);
  EXPECT_EQ(header.antenna, 24u);
  Placement placement(layout, {.samples = 2, .antennas = 32});
  EXPECT_EQ(placement.block_layout().format, core::kCi8);
  EXPECT_EQ(placement.flows(), 4u);
  std::vector<std::int8_t> block(2 * 64 * 2, 99);
  placement.place(placement.flow(header).value(), 1, header.payload.data(),
                  reinterpret_cast<std::byte*>(block.data()));
  EXPECT_EQ(block[(64 + 48) * 2], 15);
  EXPECT_EQ(block[(64 + 48) * 2 + 1], -16);
  EXPECT_EQ(block[(64 + 48) * 2 - 1], 99);

  const PacketLayout one_byte = read_layout("mwa32t-1byte");
  EXPECT_EQ(one_byte.part_bytes(), 16u);
  EXPECT_EQ(one_byte.sample.placed(), core::kCi4);
  expect_packet_round_trip(one_byte, golden_packet({0x01, 0x00}, 16), 1);
}

TEST(GoldenPackets, FilterbankAndCounts) {
  const PacketLayout filterbank = read_layout("filterbank");
  const Bytes power =
      golden_packet({'F', 'L', 'T', 'B', 0, 0, 1, 0x20, 0, 0, 0, 1, 0, 0, 0, 0x40}, 1024);
  EXPECT_EQ(decoded_golden(filterbank, power).channel, 288u);
  EXPECT_EQ(decoded_golden(filterbank, power).count, (std::uint64_t{1} << 32) + 64);
  expect_packet_round_trip(filterbank, power);

  const PacketLayout counts = read_layout("counts");
  const Bytes photons =
      golden_packet({'C', 'O', 'N', 'T', 0x20, 1, 0, 0, 0x80, 0, 0, 0, 1, 0, 0, 0}, 256);
  EXPECT_EQ(decoded_golden(counts, photons).channel, 288u);
  EXPECT_EQ(decoded_golden(counts, photons).count, (std::uint64_t{1} << 32) + 128);
  expect_packet_round_trip(counts, photons);
}

TEST(GoldenPackets, OfEveryPreset) {
  EXPECT_EQ(preset_names().size(), 12u) << "a new preset needs a golden packet here";
  for (const std::string_view name : preset_names())
    EXPECT_FALSE(read_layout(std::string(name)).about.empty()) << name;
}

}  // namespace

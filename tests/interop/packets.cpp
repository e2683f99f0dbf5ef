// Packets of others to a block, and a block to packets, for interoperability tests.
//
//   packets receive LAYOUT SHAPE PACKETS BYTES VALID     the first block that a capture gives
//   packets send LAYOUT SHAPE START BYTES PACKETS        every packet of one block whose first count is START
//
// SHAPE is samples,antennas,channels,polarisations,first channel. PACKETS holds for each packet its source and its
// length, each a little-endian 32-bit number, and its bytes. BYTES is a block's memory; VALID one byte a sample
// [channel][input][time]. The block's strides and the counters go to standard output as JSON.
#include <array>
#include <cstdint>
#include <cstring>
#include <deque>
#include <fstream>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tautline/stream/capture.h"

namespace {

using namespace tautline;
namespace packets = formats::packets;
using Bytes = std::vector<std::byte>;

Bytes read_file(const char* path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error(std::string("cannot read ") + path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  Bytes bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

void write_file(const char* path, const Bytes& bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  if (!file.flush()) throw std::runtime_error(std::string("cannot write ") + path);
}

packets::BlockShape shape_of(const std::string& text) {
  std::istringstream in(text);
  std::array<std::size_t, 5> n{};
  char comma = 0;
  for (std::size_t& value : n) in >> value >> comma;
  packets::BlockShape shape;
  shape.samples = n[0];
  shape.antennas = n[1];
  shape.channels = n[2];
  shape.polarisations = n[3];
  shape.first_channel = n[4];
  return shape;
}

nlohmann::json facts_of(const core::RawLayout& layout) {
  return {{"format", to_string(layout.format)},
          {"time_stride_bits", layout.time_stride_bits},
          {"channel_stride_bits", layout.channel_stride_bits},
          {"antenna_stride_bits", layout.antenna_stride_bits},
          {"polarisation_stride_bits", layout.polarisation_stride_bits}};
}

class FirstBlock final : public stream::BlockStore {
 public:
  std::byte* begin() override { return begun.emplace_back(block_bytes).data(); }
  void commit(const stream::CapturedBlock& block) override {
    core::ValidityMask mask;
    block.validity(false, mask);
    if (count++ == 0) {
      bytes = begun.front();
      for (std::size_t row = 0; row < mask.rows(); ++row)
        for (std::size_t t = 0; t < mask.samples(); ++t)
          valid.push_back(std::byte(mask.valid(row, t) ? 1 : 0));
      start_count = block.start_count + block.first;
    }
    begun.pop_front();
  }
  std::size_t block_bytes = 0, count = 0;
  std::uint64_t start_count = 0;
  std::deque<Bytes> begun;
  Bytes bytes, valid;
};

void receive(char** arguments) {
  stream::CaptureConfig config;
  config.layout = packets::read_layout(arguments[0]);
  config.shape = shape_of(arguments[1]);
  FirstBlock store;
  stream::Capture capture(config, store);
  store.block_bytes = capture.block_bytes();
  const Bytes all = read_file(arguments[2]);
  for (std::size_t at = 0; at + 8 <= all.size();) {
    std::uint32_t source = 0, length = 0;
    std::memcpy(&source, all.data() + at, 4);
    std::memcpy(&length, all.data() + at + 4, 4);
    capture.place({all.data() + at + 8, length}, source);
    at += 8 + length;
  }
  capture.finish();
  write_file(arguments[3], store.bytes);
  write_file(arguments[4], store.valid);
  nlohmann::json facts = facts_of(capture.block_layout());
  const stream::CaptureCounters& c = capture.counters();
  facts["blocks"] = store.count;
  facts["start_count"] = store.start_count;
  facts["accepted"] = c.accepted;
  facts["missing"] = c.missing;
  facts["duplicate"] = c.duplicate;
  facts["late"] = c.late;
  facts["foreign"] = c.foreign;
  facts["malformed"] = c.malformed;
  facts["early"] = c.early;
  std::cout << facts.dump() << '\n';
}

void send(char** arguments) {
  const auto layout = packets::read_layout(arguments[0]);
  packets::Placement placement(layout, shape_of(arguments[1]));
  const std::uint64_t start = std::stoull(arguments[2]);
  const Bytes block = read_file(arguments[3]);
  if (block.size() != placement.block_bytes()) throw std::runtime_error("a block of another size");
  Bytes all, packet, payload(layout.part_bytes());
  const auto append = [&](std::uint32_t number) {
    for (int k = 0; k < 4; ++k) all.push_back(static_cast<std::byte>(number >> 8 * k));
  };
  for (std::size_t n = 0; n < placement.shape().samples / layout.samples(); ++n)
    for (std::size_t flow = 0; flow < placement.flows(); ++flow) {
      placement.take(flow, n * layout.samples(), block.data(), payload.data());
      packets::PacketHeader header = placement.header(flow);
      header.count = start + n * layout.step;
      header.payload = payload;
      encode(layout, header, packet);
      append(static_cast<std::uint32_t>(placement.source(flow)));
      append(static_cast<std::uint32_t>(packet.size()));
      all.insert(all.end(), packet.begin(), packet.end());
    }
  write_file(arguments[4], all);
  std::cout << facts_of(placement.block_layout()).dump() << '\n';
}

}  // namespace

int main(int count, char** arguments) {
  const std::string what = count == 7 ? arguments[1] : "";
  if (what != "receive" && what != "send") {
    std::cerr << "usage: packets receive LAYOUT SHAPE PACKETS BYTES VALID | send LAYOUT SHAPE "
                 "START BYTES PACKETS\n";
    return 2;
  }
  try {
    (what == "receive" ? receive : send)(arguments + 2);
  } catch (const std::exception& wrong) {
    std::cerr << wrong.what() << '\n';
    return 1;
  }
  return 0;
}

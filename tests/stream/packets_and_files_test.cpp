// The same data as packets and as a file: a capture and the file's reader give the same samples, and miss the same
// ones.
#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tautline/formats/mwa32t/mwa32t.h"
#include "tautline/formats/voltage_reader.h"
#include "tautline/stream/capture.h"
#include "tests/formats/voltage_check.h"
#include "tests/support/seed.h"

namespace {

using namespace tautline;

// Collects what is given on as readers' blocks are collected.
class StreamStore final : public stream::BlockStore {
 public:
  std::byte* begin() override { return begun_.emplace_back(block_bytes, std::byte{0x5a}).data(); }
  void commit(const stream::CapturedBlock& block) override {
    core::RawBlock raw;
    raw.bytes.assign(begun_.front().begin(), begun_.front().end());
    raw.layout = layout;
    raw.first_sample = block.first;
    raw.samples = block.samples;
    block.invalid_spans(raw.invalid);
    stream->append(raw);
    begun_.pop_front();
  }
  std::size_t block_bytes = 0;
  core::RawLayout layout;
  std::unique_ptr<tests::Stream> stream;

 private:
  std::deque<std::vector<std::byte>> begun_;
};

using Packets = std::vector<std::pair<std::uint64_t, std::vector<char>>>;  // source, bytes

tests::Stream captured(const stream::CaptureConfig& config, const Packets& packets) {
  StreamStore store;
  stream::Capture capture(config, store);
  store.block_bytes = capture.block_bytes();
  store.layout = capture.block_layout();
  store.stream = std::make_unique<tests::Stream>(store.layout.channels, store.layout.inputs());
  for (const auto& [source, bytes] : packets)
    capture.place(std::as_bytes(std::span(bytes)), source);
  capture.finish();
  EXPECT_EQ(capture.counters().accepted, packets.size());
  return std::move(*store.stream);
}

void expect_same(const tests::Stream& a, const tests::Stream& b, std::size_t inputs) {
  ASSERT_EQ(a.samples(), b.samples());
  EXPECT_EQ(a.invalid_samples(), b.invalid_samples());
  EXPECT_GT(a.invalid_samples(), 0u);
  std::uint64_t wrong = 0;
  for (std::size_t i = 0; i < inputs; ++i)
    for (std::size_t t = 0; t < a.samples(); ++t) {
      const bool same =
          a.valid(i, t) == b.valid(i, t) && (!a.valid(i, t) || a.at(0, i, t) == b.at(0, i, t));
      wrong += same ? 0 : 1;
    }
  EXPECT_EQ(wrong, 0u);
}

TEST(PacketsAndFiles, OfTheMwaPrototype) {
  auto random = tests::generator();
  const tests::Folder folder;
  for (const bool one_byte : {false, true}) {
    constexpr std::size_t kReceivers = 2, kRecords = 20'000;
    const std::size_t bytes = one_byte ? 18 : 34;
    std::vector<std::vector<char>> files(kReceivers);
    Packets packets;
    const auto first = static_cast<std::uint16_t>(60'000 + random() % 5000);  // wraps
    for (std::size_t n = 0; n < kRecords; ++n)
      for (std::size_t receiver = 0; receiver < kReceivers; ++receiver) {
        std::vector<char> record(bytes);
        for (char& byte : record) byte = static_cast<char>(random());
        const auto counter = static_cast<std::uint16_t>(first + n);
        record[0] = static_cast<char>(counter & 255);
        record[1] = static_cast<char>(counter >> 8);
        if (receiver == 1 && n >= 7'000 && n < 7'300) continue;  // lost
        files[receiver].insert(files[receiver].end(), record.begin(), record.end());
        packets.emplace_back(receiver, std::move(record));
      }
    std::vector<std::string> paths;
    for (std::size_t k = 0; k < kReceivers; ++k) {
      paths.push_back(folder / ("receiver" + std::to_string(k) + (one_byte ? "a" : "b")));
      tests::write_bytes(paths.back(), files[k]);
    }
    const auto reader = formats::mwa32t::open_receivers(paths, {});
    const tests::Stream from_files = tests::read_all(*reader, 3000);
    stream::CaptureConfig config;
    config.layout = formats::packets::read_layout(one_byte ? "mwa32t-1byte" : "mwa32t");
    config.shape.samples = 3000;
    config.shape.antennas = 8 * kReceivers;
    expect_same(captured(config, packets), from_files, 16 * kReceivers);
  }
}

void put_little(std::vector<char>& out, std::uint32_t word) {
  for (int k = 0; k < 4; ++k) out.push_back(static_cast<char>(word >> 8 * k));
}

TEST(PacketsAndFiles, OfVdif) {
  auto random = tests::generator();
  const tests::Folder folder;
  std::vector<char> file;
  Packets packets;
  for (std::uint32_t frame = 0; frame < 40; ++frame)
    for (std::uint32_t thread = 0; thread < 2; ++thread) {
      const bool lost = frame == 11 && thread == 1, invalid = frame == 20 && thread == 0;
      std::vector<char> bytes;
      put_little(bytes, 1000u | (invalid ? 1u << 31 : 0u));
      put_little(bytes, 52u << 24 | (1970 + frame) % 2000);
      if (frame >= 30) bytes[0] = static_cast<char>(1001 & 255);  // the next second: 1001 = 0x3e9
      put_little(bytes, 1u << 29 | 8032 / 8);
      put_little(bytes, 1u << 26 | thread << 16 | 7);
      bytes.resize(32);
      for (int k = 0; k < 8000; ++k) bytes.push_back(static_cast<char>(random()));
      if (lost) continue;
      file.insert(file.end(), bytes.begin(), bytes.end());
      packets.emplace_back(0, std::move(bytes));
    }
  const std::string path = folder / "station.vdif";
  tests::write_bytes(path, file);
  formats::ReaderOptions options;
  options.threads_are = formats::ThreadsAre::polarisations;
  options.assumed.rate_hz = core::make_rational(64'000'000, 1);
  const auto reader = formats::open_voltages(path, options);
  const tests::Stream from_file = tests::read_all(*reader, 100'000);
  stream::CaptureConfig config;
  config.layout = formats::packets::read_layout("vdif");
  config.shape.samples = 3 * 32'000;
  config.shape.polarisations = 2;
  const tests::Stream from_packets = captured(config, packets);
  EXPECT_EQ(from_packets.invalid_samples(), 2u * 32'000);
  expect_same(from_packets, from_file, 2);
}

}  // namespace

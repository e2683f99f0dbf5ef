// The last of a filterbank on the page of a run: its times are those of the data, however short they are.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "tautline/pipeline/filterbank_stream.h"
#include "tautline/pipeline/monitor/drawing.h"
#include "tests/support/seed.h"

namespace tautline::pipeline::monitor {
namespace {

constexpr std::size_t kChannels = 4;
constexpr std::int64_t kRate_hz = 1000;

engine::Stream filterbank(std::uint64_t total_samples) {
  FilterbankStream details;
  formats::FilterbankDescription band;
  band.channels = kChannels;
  band.foff_mhz = -1;
  for (std::size_t c = 0; c < kChannels; ++c)
    band.channel_mhz.push_back(1400 - static_cast<double>(c));
  details.beams = {band};
  details.parts.resize(1);
  engine::Stream stream;
  stream.kind = FilterbankStream::kKind;
  stream.rate_hz = {kRate_hz, 1};
  stream.total_samples = total_samples;
  stream.details = details;
  return stream;
}

struct Drawn {
  double low = 0, high = 0;
  std::size_t columns = 0;
};

// Gives [first, end) in blocks of random lengths, and returns the axis of time at the end.
Drawn drawn(const engine::Stream& stream, std::uint64_t first, std::uint64_t end) {
  const auto drawing = make_drawing(stream);
  auto random = tests::generator();
  std::vector<std::uint8_t> samples;
  while (first < end) {
    const std::uint64_t count = std::min<std::uint64_t>(end - first, 1 + random() % 700);
    samples.resize(count * kChannels);
    for (auto& one : samples) one = static_cast<std::uint8_t>(random() % 256);
    engine::Array array;
    array.data = samples.data();
    engine::Block block;
    block.first = first;
    block.samples = static_cast<std::size_t>(count);
    block.arrays = {array};
    drawing->take(block);
    first += count;
  }
  const auto message = nlohmann::json::parse(drawing->all().front());
  const auto& panel = message["panels"][0];
  return {panel["x"]["low"], panel["x"]["high"], panel["columns"]};
}

TEST(FilterbankDrawing, TimesAreThoseOfTheData) {
  auto random = tests::generator();
  for (int round = 0; round < 20; ++round) {
    // Below, at and above the minute that is shown; of live streams nobody knows the length.
    const std::uint64_t samples =
        round < 4 ? 1 + static_cast<std::uint64_t>(round) : 5 + random() % 100'000;
    const std::uint64_t first = round % 2 == 0 ? 0 : random() % 5000;
    const double length_s = static_cast<double>(samples) / kRate_hz;
    const double first_s = static_cast<double>(first) / kRate_hz;
    for (const bool live : {true, false}) {
      SCOPED_TRACE(testing::Message() << samples << " samples from " << first << ", live " << live);
      const Drawn made = drawn(filterbank(live ? 0 : first + samples), first, first + samples);
      const double column_s = (made.high - made.low) / static_cast<double>(made.columns);
      EXPECT_LE(made.columns, 300u);
      EXPECT_LE(column_s, std::max(2.0 / kRate_hz, std::min(60.0, first_s + length_s) / 140));
      EXPECT_GE(made.high, first_s + length_s - 1.0 / kRate_hz - 1e-9);  // the last sample's start
      EXPECT_LE(made.high, first_s + length_s + column_s + 1e-9);
      EXPECT_GE(made.low, first_s - column_s);
      if (length_s < 59) {
        EXPECT_LE(made.low, first_s + 1e-9);
      } else {
        EXPECT_NEAR(made.high - made.low, 60, 1.1);
      }
    }
  }
}

std::vector<float> floats_of(const std::string& base64) {
  const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  unsigned bits = 0, have = 0;
  for (const char digit : base64) {
    if (digit == '=') break;
    bits = bits << 6 | static_cast<unsigned>(digits.find(digit));
    if ((have += 6) >= 8) bytes += static_cast<char>(bits >> (have -= 8) & 0xff);
  }
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  return values;
}

// Blocks that the page passes over have the values of those before; a gap of the data stays empty.
TEST(FilterbankDrawing, BlocksThatArePassedOverAreNoGap) {
  constexpr std::uint64_t kBlock = 64, kTotal = 20'000;
  auto random = tests::generator();
  for (const bool gap : {false, true}) {
    auto stream = filterbank(kTotal);
    stream.max_samples = kBlock;
    const auto drawing = make_drawing(stream);
    std::vector<std::uint8_t> samples(kBlock * kChannels);
    engine::Block block;
    block.samples = kBlock;
    while (block.first + kBlock <= kTotal) {
      for (auto& one : samples) one = static_cast<std::uint8_t>(random() % 256);
      engine::Array array;
      array.data = samples.data();
      block.arrays = {array};
      drawing->take(block);
      block.first += kBlock * (1 + random() % 8);
      if (gap && block.first < 11'000 && block.first > 9'000) block.first += 2003;
    }
    const auto message = nlohmann::json::parse(drawing->all().front());
    const auto& panel = message["panels"][0];
    const auto values = floats_of(panel["values"]);
    ASSERT_EQ(values.size(), kChannels * panel["columns"].get<std::size_t>());
    const auto blank = static_cast<double>(
        std::count_if(values.begin(), values.end(), [](float x) { return std::isnan(x); }));
    const double columns_of_gap = 2003.0 / 20'000 * static_cast<double>(values.size());
    EXPECT_GE(blank, gap ? 0.8 * columns_of_gap : 0);
    EXPECT_LE(blank, gap ? 1.5 * columns_of_gap : 0);
    EXPECT_NE(panel["title"].get<std::string>().find("% of these times were not looked at"),
              std::string::npos);
  }
}

}  // namespace
}  // namespace tautline::pipeline::monitor

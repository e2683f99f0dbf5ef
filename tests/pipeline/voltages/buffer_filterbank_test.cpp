// Stretches of a filterbank around triggers: sigproc files that have what the stream had, to the bit.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "tautline/formats/file_formats.h"
#include "tests/pipeline/voltages/buffer_run.h"

namespace tautline::pipeline {
namespace {

using tests::BufferStream;

BufferStream random_filterbank(std::mt19937_64& random, std::uint64_t samples) {
  BufferStream stream;
  core::VoltageDescription& voltages = stream.description;  // what the oracle looks at
  voltages.rate_hz = core::make_rational(1000, 1);
  voltages.start = core::parse_utc("2026-03-20-14:00:00");
  auto& d = stream.filterbank.emplace();
  constexpr int kBits[] = {1, 2, 4, 8, 8, 16, 32};
  const std::size_t kind = random() % std::size(kBits);
  d.bits = kBits[kind];
  d.is_signed = kind == 4;
  d.zero_level = d.is_signed ? 128 : 0;
  d.delivered = d.bits <= 8    ? formats::Delivered::u8
                : d.bits == 16 ? formats::Delivered::u16
                               : formats::Delivered::f32;
  d.channels = 8 * (1 + random() % 5);
  d.fch1_mhz = 1500;
  d.foff_mhz = random() % 2 == 0 ? -0.5 : 0.5;
  for (std::size_t c = 0; c < d.channels; ++c)
    d.channel_mhz.push_back(d.fch1_mhz + static_cast<double>(c) * d.foff_mhz);
  d.summed_ifs = {0};
  d.rate_hz = voltages.rate_hz;
  d.tsamp_s = 1e-3;
  d.start = voltages.start;
  d.tstart_mjd = core::modified_julian_date(d.start);
  d.samples = stream.samples = samples;
  d.source = "J0000";
  stream.bytes.resize(samples * stream.time_bytes());
  const unsigned most = d.bits < 8 ? (1U << d.bits) - 1 : 255U;
  for (std::byte& byte : stream.bytes) byte = static_cast<std::byte>(random() & most);
  if (d.bits == 32)
    for (std::size_t k = 0; k < stream.bytes.size(); k += 4) {
      const auto value = static_cast<float>(random() % 1'000'000) / 7;
      std::memcpy(stream.bytes.data() + k, &value, 4);
    }
  return stream;
}

// Every sample of the file, as its reader has it, is the stream's, or nothing where the record says that it is missing.
void check_filterbank(const std::string& path, const nlohmann::json& record,
                      const BufferStream& stream) {
  const formats::FilterbankDescription& from = *stream.filterbank;
  const auto reader = formats::open_filterbank({path});
  const formats::FilterbankDescription& d = reader->description();
  const auto first = record.at("start_sample").get<std::int64_t>();
  const auto samples = record.at("samples").get<std::size_t>();
  ASSERT_EQ(d.samples, samples);
  EXPECT_EQ(d.bits, from.bits);
  EXPECT_EQ(d.is_signed, from.is_signed);
  EXPECT_EQ(d.channel_mhz, from.channel_mhz);
  EXPECT_EQ(d.rate_hz, from.rate_hz);
  EXPECT_EQ(d.source, from.source);
  const core::Instant start = core::advance(from.start, first, from.rate_hz);
  EXPECT_EQ(record.at("start_utc"), core::to_iso(start));
  EXPECT_NEAR(core::seconds_between(d.start, start), 0, 2e-6);  // of an MJD in a double
  std::vector<bool> missing(samples, false);
  std::uint64_t missed = 0;
  for (const nlohmann::json& one : record.at("missed")) {
    missed += one.at("samples").get<std::uint64_t>();
    for (std::int64_t k = 0; k < one.at("samples").get<std::int64_t>(); ++k)
      if (const std::int64_t t = one.at("first_sample").get<std::int64_t>() + k;
          t >= 0 && t < static_cast<std::int64_t>(samples))
        missing[static_cast<std::size_t>(t)] = true;
  }
  const auto inside = static_cast<std::uint64_t>(std::count(missing.begin(), missing.end(), true));
  EXPECT_EQ(record.at("wanted_samples").get<std::uint64_t>(), samples - inside + missed);
  std::vector<std::byte> is(samples * d.sample_bytes());
  ASSERT_EQ(reader->read(0, samples, is), samples);
  const std::vector<std::byte> nothing(d.sample_bytes(), static_cast<std::byte>(from.zero_level));
  std::size_t wrong = 0;
  for (std::size_t t = 0; t < samples; ++t) {
    const auto* at = missing[t] ? nothing.data()
                                : stream.bytes.data() +
                                      (static_cast<std::size_t>(first) + t) * stream.time_bytes();
    wrong += std::memcmp(is.data() + t * d.sample_bytes(), at, d.sample_bytes()) != 0 ? 1 : 0;
  }
  EXPECT_EQ(wrong, 0U) << record.dump(1);
}

class FilterbankBuffers : public tests::BufferRun {
 protected:
  FilterbankBuffers() { dumps_.path = scratch_ / "event.fil"; }
  nlohmann::json record_of(const std::string& path) const {
    return nlohmann::json::parse(tests::text_of(path + ".json"));
  }
};

TEST_F(FilterbankBuffers, DumpsAreTheStreamToTheBit) {
  std::set<int> bits;
  const auto stream_of = [&](std::uint64_t samples) { return random_filterbank(random_, samples); };
  check_random_streams(".fil", stream_of, [&](const std::string& file, const BufferStream& stream) {
    SCOPED_TRACE(std::to_string(stream.filterbank->bits) + " bits");
    bits.insert(stream.filterbank->bits);
    const nlohmann::json record = record_of(file);
    check_filterbank(file, record, stream);
    return record;
  });
  EXPECT_GT(bits.size(), 2U);
}

// From the pulse at the top of the band to that at the bottom, whichever way the channels go.
TEST_F(FilterbankBuffers, StretchesCoverTheSweep) {
  for (int time = 0; time < 4; ++time) {
    BufferStream stream = random_filterbank(random_, 4000);
    const auto& d = *stream.filterbank;
    stream.triggers[0] = {{.kind = "test",
                           .id = "pulse",
                           .time = core::advance(d.start, 500, d.rate_hz),
                           .before_s = 0.1,
                           .after_s = 0.2,
                           .dm = 20'000,
                           .reference_hz = 1500e6,
                           .facts = {}}};
    EXPECT_EQ(run(stream, {.keep_s = 4}).at("dumps.dumps"), 1U);
    const nlohmann::json record = record_of(files_.at(0));
    check_filterbank(files_.at(0), record, stream);
    const auto delay = [](double mhz) {
      return 4148.808e3 * 20'000 * (1 / (mhz * mhz) - 1 / (1500.0 * 1500));
    };
    const auto first = record.at("start_sample").get<double>(),
               end = first + record.at("samples").get<double>();
    EXPECT_NEAR(first, std::max(0.0, 500 + delay(d.highest_mhz() + 0.25) - 100), 1);
    EXPECT_NEAR(end, 500 + delay(d.lowest_mhz() - 0.25) + 200, 1);
    for (const char* ending : {"", ".json"}) std::filesystem::remove(files_.at(0) + ending);
  }
}

TEST_F(FilterbankBuffers, WhatCannotBeDumpedIsRefused) {
  BufferStream stream = random_filterbank(random_, 1000);
  const auto refusal = [&] {
    try {
      engine::Run run(graph_of(stream, {.keep_s = 4}));
    } catch (const core::Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(refusal(), "");
  dumps_.path = scratch_ / "event.dada";
  EXPECT_NE(refusal().find("a name ending in .fil"), std::string::npos) << refusal();
  dumps_.path = scratch_ / "event.fil";
  stream.filterbank->evenly_spaced = false;
  EXPECT_NE(refusal().find("evenly spaced"), std::string::npos) << refusal();
  stream = tests::random_buffer_stream(random_, 1000);
  EXPECT_NE(refusal().find("the input is voltages"), std::string::npos) << refusal();
}

}  // namespace
}  // namespace tautline::pipeline

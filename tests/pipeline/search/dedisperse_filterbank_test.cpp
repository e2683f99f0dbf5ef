// Filterbank files to series: every sum checked against plain loops over what was put in the file.
#include "tautline/pipeline/search/dedisperse_filterbank.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "tautline/core/error.h"
#include "tautline/formats/npy/header.h"
#include "tautline/formats/sigproc/writers.h"
#include "tests/end_to_end/run_command.h"
#include "tests/support/error_of.h"
#include "tests/support/scratch.h"
#include "tests/support/seed.h"

namespace tautline::pipeline {
namespace {

constexpr double kSampleTime = 1e-3;

struct File {
  std::string path;
  std::size_t channels, times;
  int bits;
  std::vector<double> mhz;
  std::vector<double> samples;  // [time][channel]
};

File write_file(const tests::ScratchFolder& folder, const std::string& name, std::size_t channels,
                std::size_t times, int bits, double foff) {
  File file{folder / name, channels, times, bits, {}, {}};
  formats::sigproc::Header header;
  header.source_name = "test";
  header.nchans = channels;
  header.nbits = bits;
  header.fch1_mhz = foff < 0 ? 1500 : 1200;
  header.foff_mhz = foff;
  header.tstart_mjd = 58000.25;
  header.tsamp_s = kSampleTime;
  for (std::size_t c = 0; c < channels; ++c)
    file.mhz.push_back(header.fch1_mhz + foff * static_cast<double>(c));
  auto random = tests::generator();
  formats::sigproc::FilterbankWriter writer(file.path, header, false);
  std::vector<std::uint8_t> bytes;
  std::vector<std::uint16_t> words;
  std::vector<float> floats;
  std::normal_distribution<float> normal;
  for (std::size_t k = 0; k < channels * times; ++k) {
    const auto code = random() & ((std::uint64_t{1} << std::min(bits, 16)) - 1);
    if (bits <= 8) bytes.push_back(static_cast<std::uint8_t>(code));
    if (bits == 16) words.push_back(static_cast<std::uint16_t>(code));
    if (bits == 32) floats.push_back(normal(random));
    file.samples.push_back(bits == 32 ? floats.back() : static_cast<double>(code));
  }
  if (bits <= 8) writer.write(bytes);
  if (bits == 16) writer.write(words);
  if (bits == 32) writer.write(floats);
  writer.finish();
  return file;
}

std::vector<char> read_all(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in) << path;
  return {std::istreambuf_iterator<char>(in), {}};
}

struct Array {
  std::string type;
  std::vector<std::uint64_t> shape;
  std::vector<double> values;
};

Array read_array(const std::string& path) {
  const auto bytes = read_all(path);
  const auto header = formats::npy::parse_header(std::as_bytes(std::span<const char>(bytes)), path);
  Array array{header.type, header.shape, {}};
  for (std::size_t k = header.data_offset_bytes; k + 4 <= bytes.size(); k += 4) {
    float real;
    std::int32_t integer;
    std::memcpy(&real, bytes.data() + k, 4);
    std::memcpy(&integer, bytes.data() + k, 4);
    array.values.push_back(header.type == "<f4" ? real : integer);
  }
  return array;
}

DedisperseConfig config_for(const File& file, const std::string& output) {
  DedisperseConfig config;
  config.inputs = {file.path};
  config.output = output;
  config.dms = {{}, 0, 40, 2.5, 1.25, 40e-6, 0};
  config.method = stages::dedisperse::Method::shared;
  return config;
}

double sum_at(const File& file, double dm, std::size_t t, double k = 4148.808) {
  double sum = 0;
  for (std::size_t c = 0; c < file.channels; ++c) {
    const double reference = *std::max_element(file.mhz.begin(), file.mhz.end());
    const auto delay = static_cast<std::size_t>(std::llround(
        k * dm * (1 / (file.mhz[c] * file.mhz[c]) - 1 / (reference * reference)) / kSampleTime));
    sum += file.samples[(t + delay) * file.channels + c];
  }
  return sum;
}

TEST(DedisperseFilterbank, ArraysHoldTheSumsOfEveryWidthAndOrder) {
  const tests::ScratchFolder folder;
  const auto device = device::open({});
  for (const int bits : {1, 2, 4, 8, 16, 32})
    for (const double foff : {-7.5, 7.5}) {
      const std::string name = std::to_string(bits) + (foff < 0 ? "down" : "up");
      const File file = write_file(folder, name + ".fil", 40, 700, bits, foff);
      const std::string output = folder / (name + ".npy");
      const auto summary = dedisperse_filterbank(config_for(file, output), device);
      const Array array = read_array(output);
      EXPECT_EQ(array.type, bits == 32 ? "<f4" : "<i4");
      const auto record = nlohmann::json::parse(read_all(output + ".json"));
      ASSERT_EQ(record["dms"].size(), 17u);
      EXPECT_EQ(record["dms"][16], 40);
      EXPECT_EQ(record["tsamp_s"], kSampleTime);
      EXPECT_EQ(record["dm_constant"], 4148.808);
      EXPECT_NEAR(record["f_ref_mhz"].get<double>(), foff < 0 ? 1500 : 1492.5, 1e-9);
      ASSERT_EQ(array.shape, (std::vector<std::uint64_t>{17, summary.written}));
      ASSERT_GT(summary.written, 600u);
      for (std::size_t i = 0; i < 17; ++i)
        for (std::size_t t = 0; t < summary.written; ++t)
          ASSERT_NEAR(array.values[i * summary.written + t],
                      sum_at(file, 2.5 * static_cast<double>(i), t), bits == 32 ? 1e-3 : 0)
              << name << " trial " << i << " time " << t;
    }
}

TEST(DedisperseFilterbank, MemoryIsBoundedAndChangesNothing) {
  const tests::ScratchFolder folder;
  const auto device = device::open({}, {.threads = 2});  // each takes memory
  const File shorter = write_file(folder, "short.fil", 64, 20000, 8, -4.0);
  const File longer = write_file(folder, "long.fil", 64, 100000, 8, -4.0);
  DedisperseConfig config = config_for(shorter, folder / "a.npy");
  config.memory_bytes = 3 << 20;
  const auto small = dedisperse_filterbank(config, device);
  EXPECT_LE(small.bytes, config.memory_bytes);
  EXPECT_LT(small.block_samples, 20000u);
  config.output = folder / "b.npy";
  config.memory_bytes = 64 << 20;
  const auto large = dedisperse_filterbank(config, device);
  EXPECT_GT(large.block_samples, small.block_samples);
  EXPECT_EQ(read_all(folder / "a.npy"), read_all(folder / "b.npy"));
  config.inputs = {longer.path};
  config.output = folder / "c.npy";
  config.memory_bytes = 3 << 20;
  EXPECT_EQ(dedisperse_filterbank(config, device).bytes, small.bytes);
  config.memory_bytes = 100000;
  config.output = folder / "d.npy";
  EXPECT_THROW(dedisperse_filterbank(config, device), core::Error);
  EXPECT_FALSE(std::filesystem::exists(folder / "d.npy"));
}

TEST(DedisperseFilterbank, APartOfTheFile) {
  const tests::ScratchFolder folder;
  const File file = write_file(folder, "in.fil", 20, 900, 8, -15.0);
  DedisperseConfig config = config_for(file, folder / "out.npy");
  config.start_s = 0.3;
  config.duration_s = 0.4;
  const auto summary = dedisperse_filterbank(config, device::open({}));
  EXPECT_EQ(summary.samples, 400u);
  const Array array = read_array(config.output);
  for (std::size_t t = 0; t < summary.written; ++t)
    ASSERT_EQ(array.values[3 * summary.written + t], sum_at(file, 7.5, 300 + t));
}

TEST(DedisperseFilterbank, FoldersOfPrestoAndSigprocFilesHoldTheSameSeries) {
  const tests::ScratchFolder folder;
  const File file = write_file(folder, "in.fil", 30, 601, 8, -10.0);
  const auto device = device::open({});
  DedisperseConfig config = config_for(file, folder / "array.npy");
  config.dm_constant = 4150;
  const auto summary = dedisperse_filterbank(config, device);
  const Array array = read_array(config.output);
  for (const auto& [format, ending] :
       {std::pair{SeriesFormat::dat, ".dat"}, std::pair{SeriesFormat::tim, ".tim"}}) {
    config.format = format;
    config.output = folder / ("folder" + std::string(ending));
    config.output += "s";
    const auto files = dedisperse_filterbank(config, device);
    ASSERT_EQ(files.paths.size(), 17u);
    EXPECT_TRUE(std::filesystem::exists(config.output + "/dedisperse.json"));
    EXPECT_EQ(std::filesystem::path(files.paths[1]).filename().string(),
              "in_DM2.50" + std::string(ending));
    for (std::size_t i = 0; i < 17; ++i) {
      const auto series = formats::open_filterbank({files.paths[i]});
      const auto& description = series->description();
      // PRESTO wants an even number of bins.
      const std::size_t expected =
          format == SeriesFormat::dat ? summary.written / 2 * 2 : summary.written;
      ASSERT_EQ(description.samples, expected);
      const double dm = 2.5 * static_cast<double>(i);
      EXPECT_NEAR(*description.refdm, format == SeriesFormat::dat ? dm * 4150 * 2.41e-4 : dm, 1e-6);
      EXPECT_NEAR(description.dm_with(4150), dm, 1e-9);
      EXPECT_NEAR(description.tstart_mjd, 58000.25, 1e-9);
      std::vector<float> values(expected);
      series->read(0, expected, std::as_writable_bytes(std::span(values)));
      for (std::size_t t = 0; t < expected; ++t)
        ASSERT_EQ(values[t], static_cast<float>(array.values[i * summary.written + t]));
    }
  }
}

TEST(DedisperseFilterbank, SegmentsAreDownsampled) {
  const tests::ScratchFolder folder;
  const File file = write_file(folder, "in.fil", 30, 3000, 8, -10.0);
  DedisperseConfig config = config_for(file, folder / "out");
  config.format = SeriesFormat::tim;
  config.dms = {{}, 0, 400, 50, 1.25, 0, 1.3};
  const auto summary = dedisperse_filterbank(config, device::open({}));
  ASSERT_GT(summary.methods.size(), 1u);
  const auto first = formats::open_filterbank({summary.paths.front()});
  const auto last = formats::open_filterbank({summary.paths.back()});
  const double factor = last->description().tsamp_s / first->description().tsamp_s;
  EXPECT_EQ(factor, std::round(factor));
  EXPECT_GE(factor, 2);
  // An array has one sample time.
  config.format = SeriesFormat::npy;
  config.output = folder / "out.npy";
  EXPECT_THROW(dedisperse_filterbank(config, device::open({})), core::Error);
}

TEST(DedisperseFilterbank, WhatCannotBeDoneIsRefusedAndLeavesNothing) {
  const tests::ScratchFolder folder;
  const auto device = device::open({});
  const File file = write_file(folder, "in.fil", 10, 300, 8, -30.0);
  const auto refused = [&](const auto& change, const std::string& word) {
    DedisperseConfig config = config_for(file, folder / "out.npy");
    change(config);
    const core::Error error = tests::error_of([&] { dedisperse_filterbank(config, device); });
    EXPECT_NE(std::string(error.what()).find(word), std::string::npos) << error.what();
    EXPECT_FALSE(std::filesystem::exists(folder / "out.npy"));
    EXPECT_FALSE(std::filesystem::exists(folder / "out.npy.partial"));
  };
  using C = DedisperseConfig&;
  refused([](C c) { c.dms.high = 1000; }, "dms.range");
  refused([](C c) { c.ignored_channels = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}; }, "all 10 channels");
  refused([](C c) { c.ignored_channels = {10}; }, "ignored_channels: channel 10");
  refused([](C c) { c.start_s = 5; }, "start_s");
  refused([](C c) { c.duration_s = 0; }, "one sample (");
  refused([](C c) { c.inputs = {"/nowhere.fil"}; }, "/nowhere.fil");
  // Stopped: nothing stays.
  std::stop_source stop;
  stop.request_stop();
  EXPECT_THROW(
      dedisperse_filterbank(config_for(file, folder / "out.npy"), device, {}, {}, stop.get_token()),
      core::Error);
  EXPECT_FALSE(std::filesystem::exists(folder / "out.npy"));
}

#ifdef TAUTLINE_COMMAND
TEST(DedisperseCommand, WritesSeriesAndReportsWrongUsage) {
  const tests::ScratchFolder folder;
  const File file = write_file(folder, "in.fil", 24, 500, 8, -12.0);
  const auto run = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"dedisperse", file.path});
    return tests::run_command(arguments, folder.path().string());
  };
  const auto good = run({"-o", folder / "o.npy", "--dms", "0:20:5", "--ignorechan", "0:2,7"});
  EXPECT_EQ(good.status, 0) << good.err;
  const Array array = read_array(folder / "o.npy");
  EXPECT_EQ(array.shape[0], 5u);
  double sum = 0;
  for (const std::size_t c : {3, 4, 5, 6}) sum += file.samples[c];
  for (std::size_t c = 8; c < 24; ++c) sum += file.samples[c];
  EXPECT_EQ(array.values[0], sum);
  EXPECT_EQ(run({"-o", folder / "o.npy", "--dms", "0:20:5"}).status, 1);  // exists
  EXPECT_EQ(run({"-o", folder / "o.npy", "--dms", "0:20:5", "--overwrite"}).status, 0);
  EXPECT_EQ(run({"-o", folder / "p.npy"}).status, 2);
  EXPECT_EQ(run({"-o", folder / "p.npy", "--dms", "20:0:5"}).status, 2);
  EXPECT_EQ(run({"-o", folder / "p.npy", "--dms", "0:20:x"}).status, 2);
  EXPECT_EQ(run({"-o", folder / "p.npy", "--dms", "0:20:5", "--dm-tolerance", "1.2"}).status, 2);
  EXPECT_EQ(run({"-o", folder / "p.npy", "--dms", "0:20:5", "--ignorechan", "5:2"}).status, 2);
  EXPECT_EQ(run({"-o", folder / "p.npy", "--dms", "0:20:5", "--format", "dat"}).status, 2);
  // A loss of none is no loss of sub-bands.
  const auto lossless =
      run({"-o", folder / "p.npy", "--dms", "0:20:5", "--method", "subband", "--max-loss", "0"});
  EXPECT_EQ(lossless.status, 2);
  EXPECT_NE(lossless.err.find("--max-loss"), std::string::npos) << lossless.err;
  EXPECT_EQ(run({"-o", folder / "one.dat", "--dms", "5"}).status, 0);
  EXPECT_TRUE(std::filesystem::exists(folder / "one.inf"));
}
#endif

}  // namespace
}  // namespace tautline::pipeline

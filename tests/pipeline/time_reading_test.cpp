// How long sources of files read, measured on part of the files; their streams stay as they are.
#include "tautline/pipeline/time_reading.h"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <thread>
#include <vector>

#include "tautline/engine/run.h"
#include "tautline/formats/memory/memory_readers.h"
#include "tautline/pipeline/photons/count_source_node.h"
#include "tautline/pipeline/search/filterbank_source_node.h"
#include "tautline/pipeline/voltages/voltage_source_node.h"
#include "tests/pipeline/search/noise_in_memory.h"
#include "tests/support/seed.h"

namespace tautline::pipeline {
namespace {

constexpr std::size_t kBlock = 100, kTimes = 2000, kItems = 8;
constexpr double kRate_hz = 1000;
constexpr std::chrono::milliseconds kRest{1};

TEST(PartToRead, IsOfWholeBlocksAndAtMost64MiB) {
  auto random = tests::generator();
  for (int k = 0; k < 1000; ++k) {
    const std::uint64_t samples = random() % 1'000'000;
    const std::size_t block = 1 + random() % 3000, bytes = 1 + random() % 3000;
    const PartToRead part = part_to_read(samples, block, bytes);
    EXPECT_EQ(part.first % block, 0u);
    EXPECT_LE(part.first + part.samples, samples);
    EXPECT_LE(part.samples * bytes, std::size_t{64} << 20);
    EXPECT_TRUE(part.samples == samples || samples * bytes > std::size_t{64} << 20);
    EXPECT_EQ(part.samples > 0, samples > 0);
  }
}

TEST(TimeReading, EndsWithTheStreamAndAfterHalfASecond) {
  int calls = 0;
  const auto start = core::Clock::now();
  const auto load = time_reading(kRate_hz, [&]() -> std::size_t {
    std::this_thread::sleep_for(kRest);
    return ++calls > 7 ? 0 : 10;
  });
  ASSERT_TRUE(load);
  EXPECT_TRUE(calls == 8 || core::seconds_since(start) >= 0.5) << calls;
  EXPECT_GE(load->seconds, 8e-3 / 70 * kRate_hz);
  EXPECT_FALSE(time_reading(kRate_hz, [] { return std::size_t{0}; }));
  calls = 0;
  time_reading(kRate_hz, [&]() -> std::size_t {
    std::this_thread::sleep_for(100 * kRest);
    return ++calls;
  });
  EXPECT_LE(calls, 5);
}

// What slow readers were asked for.
struct Reads {
  std::size_t calls = 0;
  std::uint64_t samples = 0;
  std::size_t count(std::size_t got) {
    std::this_thread::sleep_for(kRest);
    ++calls;
    samples += got;
    return got;
  }
};

class SlowVoltages final : public formats::VoltageReader {
 public:
  SlowVoltages(std::unique_ptr<VoltageReader> reader, Reads& reads)
      : reader_(std::move(reader)), reads_(reads) {
    description_ = reader_->description();
  }
  core::RawLayout layout(std::size_t samples) const override { return reader_->layout(samples); }
  std::size_t block_bytes(std::size_t samples) const override {
    return reader_->block_bytes(samples);
  }
  std::uint64_t total_samples() const override { return reader_->total_samples(); }
  void seek(std::uint64_t first_sample) override { reader_->seek(first_sample); }
  std::size_t read(std::size_t samples, core::RawBlock& block) override {
    return reads_.count(reader_->read(samples, block));
  }

 private:
  std::unique_ptr<VoltageReader> reader_;
  Reads& reads_;
};

class SlowCounts final : public formats::CountReader {
 public:
  SlowCounts(std::unique_ptr<CountReader> reader, Reads& reads)
      : reader_(std::move(reader)), reads_(reads) {
    description_ = reader_->description();
  }
  std::uint64_t total_samples() const override { return reader_->total_samples(); }
  void seek(std::uint64_t first_sample) override { reader_->seek(first_sample); }
  std::size_t read(std::span<std::byte> counts) override {
    return reads_.count(reader_->read(counts));
  }

 private:
  std::unique_ptr<CountReader> reader_;
  Reads& reads_;
};

class SlowNoise final : public NoiseInMemory {
 public:
  SlowNoise(std::mt19937_64 random, Reads& reads)
      : NoiseInMemory(kItems, kTimes, random), reads_(reads) {}
  std::size_t read(std::uint64_t first, std::size_t count, std::span<std::byte> to) override {
    return reads_.count(NoiseInMemory::read(first, count, to));
  }

 private:
  Reads& reads_;
};

// The bytes of a stream's arrays.
class Recorder final : public engine::Node {
 public:
  explicit Recorder(std::vector<std::byte>& bytes) : bytes_(bytes) {}
  std::vector<engine::Stream> open(std::span<const engine::Stream>) override { return {}; }
  void process(std::size_t, const engine::Block& block, engine::Outputs&) override {
    const engine::Array& array = block.arrays.front();
    std::size_t count = core::bytes_of(array.type);
    for (std::size_t a = 0; a < array.rank; ++a) count *= array.extents[a];
    const auto* first = static_cast<const std::byte*>(array.data);
    bytes_.insert(bytes_.end(), first, first + count);
  }

 private:
  std::vector<std::byte>& bytes_;
};

class Sources : public ::testing::Test {
 protected:
  Sources() {
    auto random = tests::generator();
    for (std::byte& value : bytes_) value = static_cast<std::byte>(random() % 100);
  }

  std::unique_ptr<engine::Node> voltages(double rate) {
    core::VoltageDescription description;
    description.antennas = kItems;
    description.rate_hz = {1000, 1};
    description.centre_hz = 1e6;
    description.bandwidth_hz = 1e3;
    VoltageSourceConfig config;
    config.files = {"memory"};
    config.rate = rate;
    config.options.keep_constant = true;
    config.options.reader.source = [this, description] {
      return std::make_unique<SlowVoltages>(
          formats::open_memory_voltages(
              core::SampleView<3>(bytes_.data(), core::SampleType::ci8, {1, kItems, kTimes}),
              description),
          reads_);
    };
    auto node = std::make_unique<VoltageSourceNode>(config);
    node->set_block_samples(kBlock);
    return node;
  }
  std::unique_ptr<engine::Node> filterbank(double rate) {
    FilterbankSourceConfig config;
    config.parts = {{.placed = {{0, kTimes}, 0}}};
    config.block_samples = kBlock;
    auto node = std::make_unique<FilterbankSourceNode>(noise_, config);
    node->set_pace(rate);
    return node;
  }
  // Two sensors are added to one, or not.
  std::unique_ptr<engine::Node> counts(bool adds) {
    AutocorrelateConfig config;
    config.input = "memory";
    config.bin_s = 1 / kRate_hz;
    config.keep_constant = true;
    config.sensors.rows = 1;
    config.sensors.columns = kItems;
    config.sensors.bin_columns = adds ? 2 : 1;
    config.source = [this] {
      return std::make_unique<SlowCounts>(
          formats::open_memory_counts(
              core::SampleView<2>(bytes_.data(), core::SampleType::u8, {kTimes, kItems}), {}),
          reads_);
    };
    return make_count_source(open_count_input(config, *device_, {}), kBlock);
  }

  // The stream of a source whose load is asked for before, or is not.
  std::vector<std::byte> stream_of(std::unique_ptr<engine::Node> source, bool measured) {
    std::vector<std::byte> came;
    engine::Graph graph;
    const engine::NodeId from = graph.add("source", std::move(source));
    graph.connect(from, graph.add("recorder", std::make_unique<Recorder>(came)));
    engine::Run run(std::move(graph));
    if (measured) {
      reads_ = {};
      const auto start = core::Clock::now();
      load_ = run.node("source").expected_load();
      elapsed_s_ = core::seconds_since(start);
      measured_ = reads_;
    }
    run.go();
    return came;
  }

  // The whole stream was read, or as much as half a second allows, and the load is the time of these reads.
  void expect_load() {
    ASSERT_TRUE(load_);
    EXPECT_EQ(load_->device, kReading);
    EXPECT_LE(measured_.samples, kTimes);
    EXPECT_TRUE(measured_.samples == kTimes || elapsed_s_ >= 0.5) << measured_.samples;
    const double seconds = load_->seconds * static_cast<double>(measured_.samples) / kRate_hz;
    EXPECT_GE(seconds, 0.999e-3 * static_cast<double>(measured_.samples / kBlock));
    EXPECT_LE(seconds, elapsed_s_ * 1.001);
  }
  void expect_load_and_stream(const std::function<std::unique_ptr<engine::Node>()>& make) {
    const auto stream = stream_of(make(), true);
    expect_load();
    EXPECT_GE(stream.size(), kTimes * kItems / 2);
    EXPECT_TRUE(stream == stream_of(make(), false));
  }

  std::vector<std::byte> bytes_ = std::vector<std::byte>(2 * kTimes * kItems);
  Reads reads_, measured_;
  SlowNoise noise_{tests::generator(), reads_};
  std::shared_ptr<const device::Device> device_ = device::open({});
  std::optional<engine::Load> load_;
  double elapsed_s_ = 0;
};

TEST_F(Sources, OfVoltagesAreMeasured) {
  expect_load_and_stream([this] { return voltages(0); });
}

TEST_F(Sources, OfFilterbanksAreMeasured) {
  expect_load_and_stream([this] { return filterbank(0); });
}

TEST_F(Sources, OfCountsAreMeasured) {
  for (const bool adds : {false, true}) expect_load_and_stream([&] { return counts(adds); });
}

TEST_F(Sources, AsIfLiveAreNotMeasured) {
  for (const bool voltage : {false, true}) {
    stream_of(voltage ? voltages(1000) : filterbank(1000), true);
    EXPECT_FALSE(load_);
    EXPECT_EQ(measured_.calls, 0u);
  }
}

}  // namespace
}  // namespace tautline::pipeline

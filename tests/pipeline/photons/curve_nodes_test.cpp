// The nodes of `autocorrelate` in other graphs than its own: forks, sources that fail, slow sinks.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tautline/core/error.h"
#include "tautline/engine/run.h"
#include "tautline/formats/curves/curves.h"
#include "tautline/pipeline/photons/count_source_node.h"
#include "tautline/pipeline/photons/curve_sink_node.h"
#include "tests/support/scratch.h"
#include "tests/support/seed.h"

namespace tautline::pipeline {
namespace {

constexpr std::size_t kSensors = 5, kSamples = 40'000, kBlock = 500;

class CurveNodes : public ::testing::Test {
 protected:
  void SetUp() override {
    std::ofstream file(scratch / "x.u8", std::ios::binary);
    for (std::size_t k = 0; k < kSamples * kSensors; ++k) file.put(static_cast<char>(random() % 9));
  }
  AutocorrelateConfig config(std::size_t levels) {
    AutocorrelateConfig config;
    config.input = scratch / "x.u8";
    config.raw = {.dtype = core::SampleType::u8, .sensors = kSensors};
    config.bin_s = 1e-5;
    config.bins = 8;
    config.levels = levels;
    return config;
  }
  std::unique_ptr<engine::Node> source() {
    return make_count_source(open_count_input(config(1), *device, {}), kBlock);
  }
  std::unique_ptr<engine::Node> curves(const AutocorrelateConfig& config) {
    return make_curve_node(config, device, nullptr);
  }

  std::mt19937_64 random = tests::generator();
  tests::ScratchFolder scratch;
  std::shared_ptr<const device::Device> device =
      device::open(device::parse_selection("cpu"), {.threads = 2});
};

TEST_F(CurveNodes, AForkGivesBothTheSameCounts) {
  engine::Graph graph;
  const auto counts = graph.add("counts", source());
  for (const std::size_t levels : {3, 6}) {
    const std::string name = std::to_string(levels);
    const auto node = graph.add("curves " + name, curves(config(levels)));
    graph.connect(counts, node);
    graph.connect(node,
                  graph.add("output " + name, std::make_unique<CurveSink>(CurveSinkConfig{})));
  }
  engine::Run run(std::move(graph));
  run.go();
  for (const std::size_t levels : {3, 6}) {
    auto& sink = dynamic_cast<CurveSink&>(run.node("output " + std::to_string(levels)));
    AutocorrelateSummary summary;
    const auto alone = correlate_counts(config(levels), device, summary);
    EXPECT_EQ(sink.last().curves.samples, kSamples);
    EXPECT_EQ(sink.last().curves.sums, alone.sums);
    EXPECT_EQ(sink.last().curves.g, alone.g);
    EXPECT_EQ(sink.last().curves.first[4].trace.rate_khz, alone.first[4].trace.rate_khz);
    EXPECT_EQ(summary.profile.nodes.size(), 3u);
  }
}

// Fails after some blocks of another source.
class Failing : public engine::Node {
 public:
  explicit Failing(std::unique_ptr<engine::Node> source) : source_(std::move(source)) {}
  std::vector<engine::Stream> open(std::span<const engine::Stream> inputs) override {
    return source_->open(inputs);
  }
  void start(engine::Outputs& outputs) override { source_->start(outputs); }
  bool produce(engine::Outputs& outputs) override {
    if (blocks_++ == 20) throw core::Error(core::ErrorKind::io, "x.u8", "the disk is gone", "", "");
    return source_->produce(outputs);
  }

 private:
  std::unique_ptr<engine::Node> source_;
  std::size_t blocks_ = 0;
};

TEST_F(CurveNodes, ASourceThatFailsLeavesNothing) {
  AutocorrelateConfig output = config(4);
  output.output = scratch / "x.zip";
  output.save_state = scratch / "state";
  engine::Graph graph;
  const auto counts = graph.add("counts", std::make_unique<Failing>(source()));
  const auto node = graph.add("curves", curves(output));
  graph.connect(counts, node);
  CurveSinkConfig files;
  files.output = output.output;
  files.save_state = output.save_state;
  graph.connect(node, graph.add("output", std::make_unique<CurveSink>(files)));
  {
    engine::Run run(std::move(graph));
    EXPECT_THROW(run.go(), core::Error);
    EXPECT_EQ(run.failed_node(), "counts");
  }
  EXPECT_FALSE(std::filesystem::exists(output.output));
  EXPECT_FALSE(std::filesystem::exists(output.save_state));
}

class SlowSink : public engine::Node {
 public:
  std::vector<engine::Stream> open(std::span<const engine::Stream>) override { return {}; }
  void process(std::size_t, const engine::Block& block, engine::Outputs&) override {
    const auto& snapshot = block.payload_of<std::shared_ptr<CurveSnapshot>>();
    samples.push_back(snapshot->curves.samples);
    last = last || snapshot->last;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  std::vector<std::uint64_t> samples;
  bool last = false;
};

// A snapshot is left out while the one before it is still in use, and counts wait for none.
TEST_F(CurveNodes, ASlowSinkMissesSnapshots) {
  AutocorrelateConfig often = config(4);
  often.every_s = 1e-9;
  engine::Graph graph;
  const auto counts = graph.add("counts", source());
  const auto node = graph.add("curves", curves(often));
  graph.connect(counts, node);
  graph.connect(node, graph.add("output", std::make_unique<SlowSink>()), {.depth = 1});
  engine::Run run(std::move(graph));
  run.go();
  const auto& sink = dynamic_cast<SlowSink&>(run.node("output"));
  EXPECT_TRUE(sink.last);
  EXPECT_GE(sink.samples.size(), 2u);
  EXPECT_LT(sink.samples.size(), kSamples / kBlock);
  EXPECT_TRUE(std::is_sorted(sink.samples.begin(), sink.samples.end()));
  EXPECT_EQ(sink.samples.back(), kSamples);
}

// Live packets of constant counts, some of which do not come.
class Losing : public engine::Node {
 public:
  Losing(std::unique_ptr<engine::Node> source, std::vector<BinRange> lost)
      : source_(std::move(source)), lost_(std::move(lost)) {}
  std::vector<engine::Stream> open(std::span<const engine::Stream> inputs) override {
    auto streams = source_->open(inputs);
    auto details = streams[0].detail<CountStream>();
    details.live = details.loses = details.keep_constant = true;
    streams[0].details = std::move(details);
    return streams;
  }
  bool produce(engine::Outputs& outputs) override {
    engine::Block& block = outputs.begin();
    auto& payload = block.payload_of<CountPayload>();
    block.first = given_;
    block.samples = kBlock;
    block.set_extent(0, 0, kBlock);
    std::memset(block.arrays[0].data, 7, kBlock * kSensors);
    payload.breaks.clear();
    for (const BinRange& one : lost_) {
      const BinRange here{std::max(one.first, given_), std::min(one.end, given_ + kBlock)};
      if (here.first >= here.end) continue;
      payload.breaks.push_back(here);
      damage_.lost_samples += here.bins() * kSensors;
    }
    payload.damage = damage_;
    given_ += kBlock;
    outputs.commit();
    return given_ < kSamples;
  }

 private:
  std::unique_ptr<engine::Node> source_;
  std::vector<BinRange> lost_;
  formats::Damage damage_;
  std::uint64_t given_ = 0;
};

// Losses as long as many blocks are one place each, of all parts that they reach into and of no other.
TEST_F(CurveNodes, PartsSayTheirOwnLosses) {
  for (const bool cut : {true, false}) {
    const std::uint64_t most = cut ? 3000 + random() % 3000 : kSamples;
    std::vector<BinRange> lost;
    for (std::uint64_t first = 1 + random() % 3000; first < kSamples;
         first = lost.back().end + 2 + random() % 6000)
      lost.push_back({first, std::min<std::uint64_t>(first + 1 + random() % 4000, kSamples)});
    engine::Graph graph;
    const auto counts = graph.add("counts", std::make_unique<Losing>(source(), lost));
    const auto node = graph.add("curves", curves(config(4)));
    CurveSinkConfig files;
    files.output = scratch / (cut ? "cut.zip" : "whole.zip");
    if (cut) files.parts.each_s = static_cast<double>(most) * 1e-5;
    std::vector<std::string> warnings;
    files.log = [&](core::LogLevel level, const std::string& text) {
      if (level == core::LogLevel::warning && text.find("packets were") != std::string::npos)
        warnings.push_back(text);
    };
    if (cut) cut_curves(graph, {node}, files.parts);
    graph.connect(counts, node);
    graph.connect(node, graph.add("output", std::make_unique<CurveSink>(files)));
    engine::Run run(std::move(graph));
    run.go();
    const std::vector<std::string> written = run.node("output").files();
    ASSERT_EQ(written.size(), (kSamples + most - 1) / most);
    std::size_t said = 0;
    std::uint64_t first = 0, all = 0;
    for (const std::string& file : written) {
      const std::uint64_t end = std::min<std::uint64_t>(first + most, kSamples);
      std::uint64_t places = 0, bins = 0;
      for (const BinRange& one : lost) {
        const std::uint64_t from = std::max(one.first, first), to = std::min(one.end, end);
        if (from >= to) continue;
        ++places;
        bins += to - from;
      }
      formats::curves::CurvesFacts facts;
      (void)formats::curves::read_set(file, &facts);
      EXPECT_EQ(facts.extra.at("samples"), std::to_string(end - first - bins)) << file;
      const std::string text =
          "packets were lost in " + std::to_string(places) + (places == 1 ? " place," : " places,");
      const auto found = std::ranges::count_if(warnings, [&](const std::string& one) {
        return one.find(text) != std::string::npos && (!cut || one.starts_with(file + ": "));
      });
      EXPECT_EQ(found, places > 0 ? 1 : 0) << file << ": " << text;
      said += places > 0 ? 1 : 0;
      all += bins * kSensors;
      first = end;
    }
    EXPECT_EQ(warnings.size(), said);
    auto& sink = dynamic_cast<CurveSink&>(run.node("output"));
    EXPECT_EQ(sink.last().summary.damage.lost_samples, all);
  }
}

// Also of a live run, which goes on where a file that is written again cannot be.
TEST_F(CurveNodes, APartThatCannotBeWrittenEndsTheRun) {
  engine::Graph graph;
  const auto counts =
      graph.add("counts", std::make_unique<Losing>(source(), std::vector<BinRange>{}));
  const auto node = graph.add("curves", curves(config(4)));
  CurveSinkConfig files;
  files.output = scratch / "gone/x.zip";
  files.parts.each_s = 0.1;
  files.log = [&](core::LogLevel level, const std::string&) {
    // That the run goes on: then there is room again.
    if (level != core::LogLevel::warning || std::filesystem::is_directory(scratch / "gone")) return;
    std::filesystem::remove(scratch / "gone");
    std::filesystem::create_directory(scratch / "gone");
  };
  std::filesystem::create_directory(scratch / "gone");
  cut_curves(graph, {node}, files.parts);
  graph.connect(counts, node);
  graph.connect(node, graph.add("output", std::make_unique<CurveSink>(files)));
  engine::Run run(std::move(graph));
  std::filesystem::remove(scratch / "gone");
  std::ofstream(scratch / "gone") << "a file";
  EXPECT_THROW(run.go(), core::Error);
  EXPECT_EQ(run.failed_node(), "output");
}

// A bin that is not of whole nanoseconds, and one of a day.
TEST(CurveNodesRate, IsOneOverTheBin) {
  for (const double bin_s : {1e-9, 1.6e-6, 3.14159e-7, 0.5, 86400.0})
    EXPECT_NEAR(rate_of_bins(bin_s).value() * bin_s, 1, 1e-6);
}

}  // namespace
}  // namespace tautline::pipeline

// The nodes of a correlator in graphs that the commands do not build: forks, slow sinks, sources that fail,
// and X-engines that are given spectra in turn.
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <thread>

#include "tautline/core/baseline.h"
#include "tautline/engine/run.h"
#include "tautline/pipeline/voltages/f_engine_node.h"
#include "tautline/pipeline/voltages/visibilities_node.h"
#include "tautline/pipeline/voltages/visibility_sink_node.h"
#include "tautline/pipeline/voltages/voltage_source_node.h"
#include "tautline/pipeline/voltages/x_engine_node.h"
#include "tests/end_to_end/run_command.h"
#include "tests/support/gpus.h"
#include "tests/support/scratch.h"

namespace tautline::pipeline {
namespace {

constexpr std::size_t kNodeInputs = 4, kNodeChannels = 16, kNodeBlock = 1024;

/// Raw voltages of a file, as far as they are wanted.
class FailingSource final : public engine::Node {
 public:
  FailingSource(const std::string& path, std::size_t blocks)
      : source_({{path}, {}}), left_(blocks) {
    source_.set_block_samples(kNodeBlock);
  }
  std::vector<engine::Stream> open(std::span<const engine::Stream> inputs) override {
    return source_.open(inputs);
  }
  bool produce(engine::Outputs& outputs) override {
    if (left_-- == 0) throw core::Error(core::ErrorKind::io, "in.dada", "gone", "a file");
    return source_.produce(outputs);
  }

 private:
  VoltageSourceNode source_;
  std::size_t left_;
};

/// Keeps the bytes of the first two arrays of its blocks, and when they were.
struct Kept {
  std::vector<std::vector<std::byte>> blocks;
  std::vector<std::uint64_t> first;
  std::vector<std::size_t> samples;
  bool operator==(const Kept&) const = default;
};

class KeepingSink final : public engine::Node {
 public:
  KeepingSink(Kept& kept, int pause_ms) : kept_(kept), pause_ms_(pause_ms) {}
  std::vector<engine::Stream> open(std::span<const engine::Stream>) override { return {}; }
  void process(std::size_t, const engine::Block& block, engine::Outputs&) override {
    std::this_thread::sleep_for(std::chrono::milliseconds(pause_ms_));
    std::vector<std::byte>& bytes = kept_.blocks.emplace_back();
    for (const engine::Array& array : block.arrays) keep(array, 0, 0, bytes);
    kept_.first.push_back(block.first);
    kept_.samples.push_back(block.samples);
  }

 private:
  static void keep(const engine::Array& array, std::size_t axis, std::ptrdiff_t at,
                   std::vector<std::byte>& bytes) {
    const std::size_t size = core::bytes_of(array.type);
    if (axis == array.rank) {
      const auto* from =
          static_cast<const std::byte*>(array.data) + at * static_cast<std::ptrdiff_t>(size);
      bytes.insert(bytes.end(), from, from + size);
      return;
    }
    for (std::size_t k = 0; k < array.extents[axis]; ++k)
      keep(array, axis + 1, at + static_cast<std::ptrdiff_t>(k) * array.strides[axis], bytes);
  }
  Kept& kept_;
  int pause_ms_;
};

class Nodes : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    SKIP_WITHOUT_GPU(GetParam());
    device_ = device::open(device::parse_selection(GetParam()));
  }
  void write_voltages(std::size_t samples, const std::string& channels = "1") {
    tests::DadaFile file;
    file.nchan = channels;
    file.payload_bytes = 8 * samples * std::stoul(channels);
    tests::write_file(path_, file.bytes());
  }
  engine::NodeId add_source(engine::Graph& graph) const {
    auto source = std::make_unique<VoltageSourceNode>(VoltageSourceConfig{{path_}, {}});
    source->set_block_samples(kNodeBlock);
    return graph.add("voltages", std::move(source));
  }
  engine::NodeId add_f_engine(engine::Graph& graph, engine::NodeId source) const {
    FEngineNodeConfig config{.device = device_};
    config.filter.channels = kNodeChannels;
    config.gains = std::make_shared<Gains>(std::vector<float>(kNodeChannels * kNodeInputs, 0.01f));
    const engine::NodeId f = graph.add("f", std::make_unique<FEngineNode>(std::move(config)));
    graph.connect(source, f);
    return f;
  }
  engine::NodeId add_x_engine(engine::Graph& graph, const std::string& name, engine::Port from) {
    const engine::NodeId x =
        graph.add(name, std::make_unique<XEngineNode>(XEngineNodeConfig{device_, 0.001, {}}));
    graph.connect(from, x);
    return x;
  }
  engine::NodeId add_means(engine::Graph& graph, std::size_t inputs) const {
    return graph.add("means", std::make_unique<VisibilitiesNode>(VisibilitiesNodeConfig{
                                  .host = device::open({}),
                                  .inputs = inputs,
                                  .array = formats::unknown_array(kNodeInputs / 2, 2)}));
  }
  void add_sink(engine::Graph& graph, const std::string& name, engine::Port from, Kept& kept,
                int pause_ms = 0) const {
    graph.connect(from, graph.add(name, std::make_unique<KeepingSink>(kept, pause_ms)));
  }

  tests::ScratchFolder scratch_;
  const std::string path_ = scratch_ / "in.dada";
  std::shared_ptr<const device::Device> device_;
};

// A stage on the lane, a fast sink and one that is slower than all before it read the same spectra.
TEST_P(Nodes, SpectraAreForkedWhoeverReadsThem) {
  for (const std::string channels : {"1", "5"}) {
    write_voltages(30 * kNodeBlock + 77, channels);
    Kept fast, slow, visibilities, alone;
    for (const bool fork : {true, false}) {
      engine::Graph graph;
      const engine::NodeId source = add_source(graph), f = add_f_engine(graph, source);
      const engine::NodeId x = add_x_engine(graph, "x", f), means = add_means(graph, 1);
      graph.connect(x, means);
      add_sink(graph, "visibilities", means, fork ? visibilities : alone);
      if (fork) {
        add_sink(graph, "fast", f, fast);
        add_sink(graph, "slow", f, slow, 2);
      }
      engine::Run(std::move(graph)).go();
    }
    EXPECT_GT(fast.blocks.size(), 25u);
    EXPECT_EQ(fast, slow);
    ASSERT_GT(alone.blocks.size(), 5u);
    EXPECT_EQ(visibilities, alone);
  }
}

TEST_P(Nodes, ASourceThatFailsHalfWayLeavesNothing) {
  write_voltages(30 * kNodeBlock);
  for (const std::size_t blocks : {0u, 1u, 12u}) {
    engine::Graph graph;
    const engine::NodeId source =
        graph.add("voltages", std::make_unique<FailingSource>(path_, blocks));
    const engine::NodeId f = add_f_engine(graph, source), x = add_x_engine(graph, "x", f);
    const engine::NodeId means = add_means(graph, 1);
    graph.connect(x, means);
    for (const bool page : {false, true}) {
      const std::string name = page ? "page" : "file";
      graph.connect(
          means,
          graph.add(name, std::make_unique<VisibilitySinkNode>(VisibilitySinkConfig{
                              scratch_ / (page ? "out.html" : "out.uvh5"), false, page, {}})));
    }
    std::string failed;
    {
      engine::Run run(std::move(graph));
      EXPECT_THROW(run.go(), core::Error);
      failed = run.failed_node();
    }
    EXPECT_EQ(failed, "voltages");
    for (const auto& entry : std::filesystem::directory_iterator(scratch_.path()))
      EXPECT_EQ(entry.path().filename(), "in.dada");
  }
}

// Blocks of spectra that several blocks of voltages fill: the same integrations to the bit, also where an input has
// lost samples. Those of floats begin where the correlator's groups do.
TEST(FEngineNode, BlocksOfSpectraAreAsLongAsWanted) {
  constexpr std::size_t kSpectra = 5000, kIntegration = 2400, kGroup = 1024;
  const tests::ScratchFolder scratch;
  const std::string path = scratch / "in.dada";
  tests::DadaFile file;
  file.payload_bytes = 2 * kNodeInputs * kNodeChannels * (kSpectra + 7);
  std::string bytes = file.bytes();
  for (std::size_t k = 0; k < 1500; ++k)  // an input that is off
    bytes[4096 + (20000 + k) * 2 * kNodeInputs] = bytes[4097 + (20000 + k) * 2 * kNodeInputs] = 3;
  tests::write_file(path, bytes);
  const auto device = device::open({}, {.threads = 2});
  using stages::channelize::Output;
  for (const Output output : {Output::corner_turned_ci8, Output::corner_turned_float}) {
    const bool floats = output == Output::corner_turned_float;
    const auto correlate = [&](std::size_t block_spectra, Kept& spectra) {
      Kept visibilities;
      engine::Graph graph;
      auto source = std::make_unique<VoltageSourceNode>(VoltageSourceConfig{{path}, {}});
      source->set_block_samples(kNodeBlock);
      const double integration_s = kIntegration * kNodeChannels / 1.28e6;
      FEngineNodeConfig config{.device = device};
      config.block_spectra = block_spectra;
      config.filter.channels = kNodeChannels, config.filter.output = output;
      if (!floats)
        config.gains =
            std::make_shared<Gains>(std::vector<float>(kNodeChannels * kNodeInputs, 0.01f));
      const engine::NodeId voltages = graph.add("voltages", std::move(source));
      auto bank = std::make_unique<FEngineNode>(std::move(config));
      bank->set_integration(integration_s);
      const engine::NodeId f = graph.add("f", std::move(bank));
      const engine::NodeId x = graph.add(
          "x", std::make_unique<XEngineNode>(XEngineNodeConfig{device, integration_s, {}}));
      const engine::NodeId means = graph.add(
          "means",
          std::make_unique<VisibilitiesNode>(VisibilitiesNodeConfig{
              .host = device, .inputs = 1, .array = formats::unknown_array(kNodeInputs / 2, 2)}));
      graph.connect(voltages, f);
      graph.connect(f, x);
      graph.connect(x, means);
      graph.connect(f, graph.add("spectra", std::make_unique<KeepingSink>(spectra, 0)));
      graph.connect(means, graph.add("sink", std::make_unique<KeepingSink>(visibilities, 0)));
      engine::Run(std::move(graph)).go();
      return visibilities;
    };
    Kept plain;
    const Kept expected = correlate(0, plain);
    ASSERT_EQ(expected.samples, (std::vector<std::size_t>{kIntegration, kIntegration, 200}));
    for (const std::size_t wanted : {1u, 100u, 1500u, 2100u, 9000u}) {
      Kept blocks;
      EXPECT_EQ(correlate(wanted, blocks), expected) << wanted;
      std::size_t end = 0;
      for (std::size_t k = 0; k < blocks.first.size(); ++k) {
        EXPECT_EQ(blocks.first[k], end);
        end += blocks.samples[k];
      }
      EXPECT_EQ(end, kSpectra);
      const std::vector<std::size_t>& lengths = blocks.samples;
      if (floats && wanted == 1500) {
        EXPECT_EQ(lengths,
                  (std::vector<std::size_t>{kGroup, kGroup, 352, kGroup, kGroup, 352, 200}));
      }
      if (floats && wanted == 2100) {
        EXPECT_EQ(lengths, (std::vector<std::size_t>{2048, 352, 2048, 352, 200}));
      }
      if (floats && wanted == 9000) {
        EXPECT_EQ(lengths, (std::vector<std::size_t>{kIntegration, kIntegration, 200}));
      }
      if (!floats && wanted == 100) {  // blocks of voltages make 57 or 64
        EXPECT_EQ(lengths[0], 121u);
      }
    }
  }
}

// Fine channels too, and readers that want the spectra of each block of voltages, unless an X-engine reads the spectra
// as well.
TEST(FEngineNode, BlocksOfFineChannelsAreAsLongAsWanted) {
  constexpr std::size_t kCoarse = 5;
  const tests::ScratchFolder scratch;
  const std::string path = scratch / "in.dada";
  tests::DadaFile file;
  file.nchan = std::to_string(kCoarse), file.bw = "6.4";
  file.payload_bytes = 2 * kNodeInputs * kCoarse * kNodeChannels * 1000;
  tests::write_file(path, file.bytes());
  const auto device = device::open({}, {.threads = 2});
  const auto spectra = [&](std::size_t block_spectra,
                           const std::function<void(FEngineNode&)>& set) {
    auto source = std::make_unique<VoltageSourceNode>(VoltageSourceConfig{{path}, {}});
    source->set_block_samples(kNodeBlock);
    FEngineNodeConfig config{.device = device};
    config.filter.fine = kNodeChannels;
    config.gains =
        std::make_shared<Gains>(std::vector<float>(kCoarse * kNodeChannels * kNodeInputs, 0.01f));
    config.block_spectra = block_spectra;
    auto bank = std::make_unique<FEngineNode>(std::move(config));
    set(*bank);
    Kept kept;
    engine::Graph graph;
    const engine::NodeId voltages = graph.add("voltages", std::move(source));
    const engine::NodeId f = graph.add("f", std::move(bank));
    graph.connect(voltages, f);
    graph.connect(f, graph.add("sink", std::make_unique<KeepingSink>(kept, 0)));
    engine::Run(std::move(graph)).go();
    return kept;
  };
  const auto as_it_is = [](FEngineNode&) {};
  const Kept expected = spectra(0, as_it_is);
  ASSERT_EQ(expected.samples.size(), 16u);
  // [channel][input][time] of one block after the other: the same bytes in another order.
  const auto row = [](const Kept& kept, std::size_t channel, std::size_t input) {
    std::vector<std::byte> times;
    for (std::size_t k = 0; k < kept.blocks.size(); ++k) {
      const std::size_t bytes = 2 * kept.samples[k];
      const auto from = kept.blocks[k].begin() +
                        static_cast<std::ptrdiff_t>((channel * kNodeInputs + input) * bytes);
      times.insert(times.end(), from, from + static_cast<std::ptrdiff_t>(bytes));
    }
    return times;
  };
  const auto with_x = [](FEngineNode& bank) { bank.use_short_blocks(), bank.set_integration(1); };
  for (const Kept& kept : {spectra(200, as_it_is), spectra(200, with_x)}) {
    EXPECT_EQ(kept.samples.front(), 249u);  // of four blocks: 57 and 64 each
    for (std::size_t channel = 0; channel < kCoarse * kNodeChannels; ++channel)
      for (std::size_t input = 0; input < kNodeInputs; ++input)
        EXPECT_EQ(row(kept, channel, input), row(expected, channel, input));
  }
  EXPECT_EQ(spectra(200, [](FEngineNode& bank) { bank.use_short_blocks(); }), expected);
}

// The blocks of a source whose first block is to be shorter.
TEST(VoltageSourceNode, TheFirstBlockIsShorterWhereNothingElseChanges) {
  const tests::ScratchFolder scratch;
  const std::string path = scratch / "in.dada";
  const auto lengths = [&](const std::string& order, std::size_t first, bool keep_constant) {
    tests::DadaFile file;
    file.order = order;
    file.payload_bytes = 2 * kNodeInputs * 3000;
    tests::write_file(path, file.bytes());
    stream::SequenceOptions options;
    options.keep_constant = keep_constant;
    auto source = std::make_unique<VoltageSourceNode>(VoltageSourceConfig{{path}, options});
    source->set_block_samples(kNodeBlock);
    source->set_first_block_samples(first);
    Kept kept;
    engine::Graph graph;
    const engine::NodeId voltages = graph.add("voltages", std::move(source));
    graph.connect(voltages, graph.add("sink", std::make_unique<KeepingSink>(kept, 0)));
    engine::Run(std::move(graph)).go();
    return kept.samples;
  };
  using Lengths = std::vector<std::size_t>;
  EXPECT_EQ(lengths("TFAP", 1000, false), (Lengths{1000, 1024, 976}));
  // The places of inputs in a block depend on its length.
  EXPECT_EQ(lengths("FAPT", 1000, false), (Lengths{1024, 1024, 952}));
  // Too short to tell an empty stretch.
  EXPECT_EQ(lengths("TFAP", 20, false), (Lengths{1024, 1024, 952}));
  EXPECT_EQ(lengths("TFAP", 20, true), (Lengths{20, 1024, 1024, 932}));
}

std::vector<std::string> cpu_and_gpus() {
  std::vector<std::string> names = tests::gpu_names();
  names.insert(names.begin(), "cpu");
  return names;
}

INSTANTIATE_TEST_SUITE_P(Devices, Nodes, ::testing::ValuesIn(cpu_and_gpus()),
                         [](const auto& info) { return tests::test_name(info.param); });

}  // namespace
}  // namespace tautline::pipeline

// Edges between the host's and a device's memory.
#include <gtest/gtest.h>

#include <random>

#include "tests/engine/nodes.h"
#include "tests/support/gpus.h"
#include "tests/support/seed.h"

namespace tautline::engine {
namespace {

// Blocks of [channel][time], of which each has another number of times, from a memory of its own or lent with strides.
class Noise : public Node {
 public:
  Noise(std::size_t blocks, bool lent, std::vector<std::int32_t>& given)
      : blocks_(blocks), lent_(lent), given_(given), random_(tests::generator()()) {}
  std::vector<Stream> open(std::span<const Stream>) override {
    return {{.kind = "noise",
             .arrays = {{"value", core::SampleType::i32, {"channel", "input", "time"}, {5, 3, 64}}},
             .max_samples = 64,
             .lent = lent_}};
  }
  bool produce(Outputs& outputs) override {
    if (blocks_-- == 0) return false;
    Block& block = outputs.begin();
    block.first = next_;
    block.samples = 1 + random_() % 64;
    next_ += block.samples;
    const std::size_t stride = lent_ ? 1 + random_() % 3 : 1;
    auto memory = std::make_shared<std::vector<std::int32_t>>(5 * 3 * 64 * stride);
    if (lent_)
      block.lend(0,
                 core::SampleView<3>(memory->data(), core::SampleType::i32, {5, 3, block.samples},
                                     {static_cast<std::ptrdiff_t>(3 * 64 * stride),
                                      static_cast<std::ptrdiff_t>(64 * stride),
                                      static_cast<std::ptrdiff_t>(stride)}),
                 memory);
    block.set_extent(0, 2, block.samples);
    const auto values = block.view<3>().as<std::int32_t>();
    for (std::size_t c = 0; c < 5; ++c)
      for (std::size_t i = 0; i < 3; ++i)
        for (std::size_t t = 0; t < block.samples; ++t)
          given_.push_back(values(c, i, t) = static_cast<std::int32_t>(random_()));
    outputs.commit();
    return true;
  }

 private:
  std::size_t blocks_;
  bool lent_;
  std::vector<std::int32_t>& given_;
  std::mt19937 random_;
  std::uint64_t next_ = 0;
};

// Copies blocks within the device's memory.
class Copying : public Node {
 public:
  explicit Copying(std::shared_ptr<const device::Device> device) : device_(std::move(device)) {}
  Needs needs(std::size_t, const Stream&) const override { return {.device = device_}; }
  std::vector<Stream> open(std::span<const Stream> inputs) override {
    EXPECT_EQ(inputs[0].device, device_->compiles() ? device_ : nullptr);
    Stream stream = inputs[0];
    stream.device = device_;
    return {stream};
  }
  void process(std::size_t, const Block& block, Outputs& outputs) override {
    EXPECT_EQ(device_->compiles(), device_->holds(block.arrays[0].data));
    Block& out = outputs.begin(0, block);
    out.set_extent(0, 2, block.samples);
    outputs.queue(device_).copy(out.arrays[0].data, block.arrays[0].data, 5 * 3 * 64 * 4);
    outputs.commit();
  }

 private:
  std::shared_ptr<const device::Device> device_;
};

class Reading : public Node {
 public:
  explicit Reading(std::vector<std::int32_t>& came) : came_(came) {}
  std::vector<Stream> open(std::span<const Stream>) override { return {}; }
  void process(std::size_t, const Block& block, Outputs&) override {
    const auto values = block.view<3>().as<const std::int32_t>();
    for (std::size_t c = 0; c < 5; ++c)
      for (std::size_t i = 0; i < 3; ++i)
        for (std::size_t t = 0; t < block.samples; ++t) came_.push_back(values(c, i, t));
    if (pause) pause();
  }
  std::function<void()> pause;

 private:
  std::vector<std::int32_t>& came_;
};

class Transfers : public testing::TestWithParam<std::string> {};

TEST_P(Transfers, BlocksGoThereAndBackUnchanged) {
  SKIP_WITHOUT_GPU(GetParam());
  const auto device = device::open(device::parse_selection(GetParam()));
  for (const bool lent : {false, true}) {
    std::vector<std::int32_t> given, came, there, slow;
    Graph graph;
    const NodeId noise = graph.add("noise", std::make_unique<Noise>(60, lent, given));
    const NodeId first = graph.add("first", std::make_unique<Copying>(device));
    const NodeId second = graph.add("second", std::make_unique<Copying>(device));
    auto sleepy = std::make_unique<Reading>(slow);
    sleepy->pause = [] { sleep_ms(1); };
    graph.connect(noise, first);
    graph.connect(first, second);
    graph.connect(second, graph.add("came", std::make_unique<Reading>(came)), {.depth = 1});
    graph.connect(first, graph.add("there", std::make_unique<Reading>(there)));
    graph.connect(noise, graph.add("slow", std::move(sleepy)));
    engine::Run run(std::move(graph));
    run.go();
    EXPECT_EQ(came, given);
    EXPECT_EQ(there, given);
    EXPECT_EQ(slow, given);
    std::size_t copies = 0, on_device = 0;
    for (const PlannedNode& node : run.plan()) {
      copies += node.name.find(" to ") != std::string::npos;
      if (node.name == "second") {
        EXPECT_EQ(node.blocks, 3u) << "written, waiting, copied";
      }
      on_device += node.lane == device->name();
    }
    EXPECT_EQ(copies, 3u) << "one copy in, one out of each output that the host reads";
    EXPECT_EQ(on_device, 2u) << "both stages on one lane";
    EXPECT_GT(run.bytes().device_bytes, 0u);
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, Transfers, testing::ValuesIn(tests::gpu_names()),
                         [](const auto& info) { return tests::test_name(info.param); });

}  // namespace
}  // namespace tautline::engine

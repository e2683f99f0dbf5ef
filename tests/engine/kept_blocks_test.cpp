// Inputs whose blocks come together, and blocks that nodes keep and lend on.
#include <gtest/gtest.h>

#include "tautline/engine/run.h"
#include "tests/engine/nodes.h"

namespace tautline::engine {
namespace {

// The sums of its inputs' blocks.
class Joining : public Node {
 public:
  explicit Joining(Came& came) : came_(came) {}
  Needs needs(std::size_t, const Stream&) const override { return {.in_step = true}; }
  std::vector<Stream> open(std::span<const Stream>) override { return {}; }
  void process_together(std::span<const Block* const> blocks, Outputs&) override {
    for (std::size_t k = 0; k < blocks[0]->samples; ++k) {
      std::int32_t sum = 0;
      for (const Block* block : blocks) sum += block->view<1>().as<const std::int32_t>()(k);
      came_.values.push_back(sum);
    }
  }
  void finish(Outputs&) override { came_.finished = true; }

 private:
  Came& came_;
};

TEST(EngineRun, InputsInStepComeTogether) {
  Came came;
  Graph graph;
  const NodeId source = graph.add("source", std::make_unique<Counting>(600));
  const NodeId two = graph.add("two", std::make_unique<Adding>(2));
  const NodeId three = graph.add("three", std::make_unique<Adding>(1));
  const NodeId join = graph.add("join", std::make_unique<Joining>(came));
  graph.connect(source, two);
  graph.connect(two, three);
  graph.connect(source, {join, 0});
  graph.connect(three, {join, 1});
  engine::Run(std::move(graph)).go();
  ASSERT_EQ(came.values.size(), 600u);
  for (std::int32_t k = 0; k < 600; ++k)
    EXPECT_EQ(came.values[static_cast<std::size_t>(k)], 2 * k + 3);
  EXPECT_TRUE(came.finished);
}

// Gives the first input's blocks one block later.
class KeepingFirst : public Joining {
 public:
  using Joining::Joining;
  Needs needs(std::size_t, const Stream&) const override {
    return {.kept_blocks = 2, .in_step = true};
  }
  std::vector<Stream> open(std::span<const Stream> inputs) override {
    Stream lent = inputs[0];
    lent.lent = true;
    return {lent};
  }
  void process_together(std::span<const Block* const> blocks, Outputs& outputs) override {
    const auto before = std::exchange(kept_, outputs.keep(*blocks[0]));
    if (before) give(before, outputs);
  }
  void finish(Outputs& outputs) override { give(std::exchange(kept_, nullptr), outputs); }

 private:
  static void give(const std::shared_ptr<const Block>& block, Outputs& outputs) {
    Block& out = outputs.begin(0, *block);
    out.lend(0, block->view<1>(), block);
    outputs.commit();
  }
  std::shared_ptr<const Block> kept_;
};

TEST(EngineRun, BlocksOfInputsInStepAreKeptOneByOne) {
  Came unused, came;
  Graph graph;
  const NodeId source = graph.add("source", std::make_unique<Counting>(300));
  const NodeId adding = graph.add("adding", std::make_unique<Adding>(1000));
  const NodeId join = graph.add("join", std::make_unique<KeepingFirst>(unused));
  graph.connect(source, {join, 0});
  graph.connect(source, adding);
  graph.connect(adding, {join, 1});
  graph.connect(join, graph.add("sink", std::make_unique<Collecting>(came)));
  engine::Run(std::move(graph)).go();
  EXPECT_EQ(came.values, counted(300));
}

TEST(EngineRun, InputsThatFallOutOfStepAreRefused) {
  for (const std::uint64_t other : {90u, 50u}) {
    Came came;
    Graph graph;
    const NodeId a = graph.add("a", std::make_unique<Counting>(90, 9));
    const NodeId b = graph.add("b", std::make_unique<Counting>(other, other == 90 ? 10 : 9));
    const NodeId join = graph.add("join", std::make_unique<Joining>(came));
    graph.connect(a, {join, 0});
    graph.connect(b, {join, 1});
    engine::Run run(std::move(graph));
    EXPECT_NE(refusal([&] { run.go(); }).find("cut in the same blocks"), std::string::npos);
    EXPECT_EQ(run.failed_node(), "join");
  }
}

// Gives each block three blocks later, without a copy.
class Delaying : public Node {
 public:
  std::vector<Stream> open(std::span<const Stream> inputs) override {
    Stream lent = inputs[0];
    lent.lent = true;
    return {lent};
  }
  Needs needs(std::size_t, const Stream&) const override { return {.kept_blocks = 6}; }
  void process(std::size_t, const Block& block, Outputs& outputs) override {
    kept_.push_back(outputs.keep(block));
    if (kept_.size() > 3) give(outputs);
  }
  void finish(Outputs& outputs) override {
    while (!kept_.empty()) give(outputs);
  }

 private:
  void give(Outputs& outputs) {
    const auto block = kept_.front();
    kept_.erase(kept_.begin());
    Block& out = outputs.begin(0, *block);
    out.lend(0, block->view<1>(), block);
    outputs.commit();
  }
  std::vector<std::shared_ptr<const Block>> kept_;
};

TEST(EngineRun, KeptBlocksAreLentOn) {
  Came came;
  Graph graph;
  const NodeId source = graph.add("source", std::make_unique<Counting>(333));
  const NodeId delaying = graph.add("delaying", std::make_unique<Delaying>());
  graph.connect(source, delaying);
  graph.connect(delaying, graph.add("sink", std::make_unique<Collecting>(came)));
  engine::Run(std::move(graph)).go();
  EXPECT_EQ(came.values, counted(333));
}

}  // namespace
}  // namespace tautline::engine

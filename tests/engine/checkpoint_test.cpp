// Checkpoints: all states are of the same place of each source's stream, and a run that begins with them ends as one
// that was never broken off.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <random>

#include "tests/engine/nodes.h"
#include "tests/support/seed.h"

namespace tautline::engine {
namespace {

TEST(EngineCheckpoint, IsOfOneMomentAndResumes) {
  static constexpr std::uint64_t kTotal = 5000;
  States saved;
  const auto build = [](Came& direct, Came& added, std::function<void()> pause) {
    Graph graph;
    auto counting = std::make_unique<Counting>(kTotal);
    counting->pause = std::move(pause);
    const NodeId source = graph.add("source", std::move(counting));
    const NodeId adding = graph.add("adding", std::make_unique<Adding>(1));
    graph.connect(source, adding);
    graph.connect(adding, graph.add("added", std::make_unique<Collecting>(added)));
    graph.connect(source, graph.add("direct", std::make_unique<Collecting>(direct)));
    return graph;
  };
  Came direct, added;
  {
    engine::Run* running = nullptr;
    std::atomic<int> blocks = 0;
    engine::Run run(build(direct, added,
                          [&] {
                            if (++blocks == 100) running->checkpoint();
                          }),
                    {.checkpointed = [&](States states) { saved = std::move(states); }});
    running = &run;
    run.go();
    EXPECT_EQ(direct.values, counted(kTotal));
  }
  ASSERT_EQ(saved.size(), 4u);
  EXPECT_EQ(saved["direct"].size(),
            700u * 4);  // what had gone out when the checkpoint was asked for
  EXPECT_EQ(saved["added"].size(), 700u * 4);
  Came direct_again, added_again;
  engine::Run again(build(direct_again, added_again, {}), {.resume = saved});
  again.go();
  EXPECT_EQ(direct_again.values, counted(kTotal));
  EXPECT_EQ(added_again.values, counted(kTotal, 1));
}

// Says when its input has ended.
class Ending final : public Collecting {
 public:
  Ending(Came& came, std::atomic<bool>& ended) : Collecting(came), ended_(ended) {}
  void finish(Outputs& outputs) override {
    Collecting::finish(outputs);
    ended_ = true;
  }

 private:
  std::atomic<bool>& ended_;
};

TEST(EngineCheckpoint, CompletesWhenOneOfTheSourcesHasEnded) {
  struct Results {
    Came alone, both;
  };
  std::atomic<bool> ended = false;
  const auto build = [&](Results& came, std::function<void()> pause) {
    Graph graph;
    auto counting = std::make_unique<Counting>(3000);
    counting->pause = std::move(pause);
    const NodeId brief = graph.add("brief", std::make_unique<Counting>(70));
    const NodeId lasting = graph.add("lasting", std::move(counting));
    const NodeId both = graph.add("both", std::make_unique<Collecting>(came.both));
    graph.connect(brief, graph.add("alone", std::make_unique<Ending>(came.alone, ended)));
    graph.connect(brief, {both, 0});
    graph.connect(lasting, {both, 1});
    return graph;
  };
  const auto sorted = [](std::vector<std::int32_t> values) {
    std::sort(values.begin(), values.end());
    return values;
  };
  std::vector<States> saved;
  Results first, second;
  engine::Run* running = nullptr;
  int blocks = 0;
  engine::Run run(build(first,
                        [&] {
                          ++blocks;
                          while (blocks == 100 && !ended) sleep_ms(1);
                          if (blocks >= 100) running->checkpoint();
                        }),
                  {.checkpointed = [&](States states) { saved.push_back(std::move(states)); }});
  running = &run;
  run.go();
  ASSERT_GE(saved.size(), 2u);  // one does not stand in the way of the next
  ASSERT_EQ(saved.front().size(), 4u);
  EXPECT_EQ(saved.front()["alone"].size(), 70u * 4);
  EXPECT_EQ(saved.front()["both"].size(), 770u * 4);
  engine::Run(build(second, {}), {.resume = saved.front()}).go();
  EXPECT_EQ(second.alone.values, counted(70));
  EXPECT_EQ(sorted(second.both.values), sorted(first.both.values));
}

// Several sources of random lengths, stages, and sinks with several inputs; checkpoints at random moments, of which
// each leads to the same results.
TEST(EngineCheckpoint, OfRandomGraphsAtRandomMomentsResume) {
  std::mt19937 random(tests::seed());
  std::size_t completed = 0;
  for (int round = 0; round < 20; ++round) {
    const unsigned shape = random();
    const auto build = [&](std::vector<std::unique_ptr<Came>>& came, std::function<void()> pause) {
      std::mt19937 choose(shape);
      Graph graph;
      std::vector<NodeId> nodes;
      for (std::size_t k = 0; k < 1 + choose() % 3; ++k) {
        auto counting = std::make_unique<Counting>(choose() % 1500, 1 + choose() % 40);
        counting->pause = pause;
        nodes.push_back(graph.add("source " + std::to_string(k), std::move(counting)));
      }
      for (std::size_t k = 0; k < choose() % 4; ++k) {
        const NodeId from = nodes[choose() % nodes.size()];
        const auto number = static_cast<std::int32_t>(choose() % 100);
        nodes.push_back(graph.add("stage " + std::to_string(k), std::make_unique<Adding>(number)));
        graph.connect(from, nodes.back());
      }
      for (std::size_t k = 0; k < 1 + choose() % 3; ++k) {
        came.push_back(std::make_unique<Came>());
        const NodeId sink =
            graph.add("sink " + std::to_string(k), std::make_unique<Collecting>(*came.back()));
        for (std::size_t input = 0; input < 1 + choose() % 3; ++input)
          graph.connect(nodes[choose() % nodes.size()], {sink, input});
      }
      return graph;
    };
    std::vector<States> saved;
    std::vector<std::unique_ptr<Came>> first;
    std::atomic<unsigned> blocks = 0;
    engine::Run* running = nullptr;
    const unsigned every = 1 + random() % 9;
    engine::Run run(build(first,
                          [&] {
                            if (++blocks % every == 0) running->checkpoint();
                          }),
                    {.checkpointed = [&](States states) { saved.push_back(std::move(states)); }});
    running = &run;
    run.go();
    completed += saved.size();
    for (std::size_t k = 0; k < saved.size(); k += 1 + saved.size() / 4) {
      std::vector<std::unique_ptr<Came>> again;
      engine::Run(build(again, {}), {.resume = saved[k]}).go();
      for (std::size_t s = 0; s < first.size(); ++s) {
        // Between the inputs of a node there is no order.
        std::sort(first[s]->values.begin(), first[s]->values.end());
        std::sort(again[s]->values.begin(), again[s]->values.end());
        ASSERT_EQ(again[s]->values, first[s]->values) << "round " << round << ", sink " << s;
      }
    }
  }
  EXPECT_GT(completed, 40u);
}

TEST(EngineCheckpoint, ThatCannotBeKeptEndsTheRun) {
  Came came;
  Graph graph;
  auto counting = std::make_unique<Counting>(std::uint64_t{1} << 40);
  engine::Run* running = nullptr;
  counting->pause = [&] { running->checkpoint(); };
  graph.connect(graph.add("source", std::move(counting)),
                graph.add("sink", std::make_unique<Collecting>(came)));
  engine::Run run(std::move(graph), {.checkpointed = [](const States&) {
                    throw core::Error(core::ErrorKind::io, "state", "No space left on device", "");
                  }});
  running = &run;
  EXPECT_THROW(run.go(), core::Error);
  EXPECT_FALSE(came.published);
}

}  // namespace
}  // namespace tautline::engine

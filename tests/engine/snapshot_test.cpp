// Snapshots of a run while it goes on.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <future>
#include <memory>
#include <thread>

#include "tests/engine/nodes.h"

namespace tautline::engine {
namespace {

// Counts what it was given.
class Tallying final : public Collecting {
 public:
  explicit Tallying(Came& came) : Collecting(came) {}
  void process(std::size_t input, const Block& block, Outputs& outputs) override {
    tally_ += block.samples;
    Collecting::process(input, block, outputs);
  }
  Counters counters() const override { return {{"tally", tally_}}; }

 private:
  std::uint64_t tally_ = 0;
};

NodeSnapshot of(const Snapshot& all, const std::string& name) {
  return *std::find_if(all.nodes.begin(), all.nodes.end(),
                       [&](const NodeSnapshot& node) { return node.profile.node == name; });
}

// A sink that stops in its third block until it is let go. Its source gives no more than two blocks that it has not
// begun before that.
struct Stalling {
  Came came;
  std::promise<void> let_go;
  std::atomic<int> blocks = 0;

  Graph graph(EdgeOptions edge, std::uint64_t total) {
    Graph graph;
    auto sink = std::make_unique<Tallying>(came);
    sink->pause = [this, waits = let_go.get_future().share()] {
      if (++blocks >= 3) waits.get();  // throws what it is told to
    };
    auto counting = std::make_unique<Counting>(total);
    counting->pause = [this, given = 0]() mutable {
      for (++given; blocks < std::min(given, 3);) std::this_thread::yield();
    };
    const NodeId source = graph.add("source", std::move(counting));
    graph.connect(source, graph.add("sink", std::move(sink)), edge);
    return graph;
  }
};

template <class Condition>
Snapshot once(const engine::Run& run, Condition condition) {
  constexpr int kMostLooks = 30'000;  // a minute
  for (int look = 0;; ++look) {
    const Snapshot now = run.snapshot();
    if (condition(now)) return now;
    if (look == kMostLooks) {
      ADD_FAILURE() << "the run was never as expected";
      return now;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

TEST(EngineSnapshot, ShowsASinkThatStallsAndWhoWaitsForIt) {
  Stalling stalling;
  engine::Run run(stalling.graph({.depth = 4}, 700), {.live_counters = true});
  EXPECT_FALSE(run.snapshot().running);
  EXPECT_EQ(of(run.snapshot(), "source").activity, Activity::starting);
  std::jthread runs([&] { run.go(); });
  const Snapshot stalled = once(run, [](const Snapshot& now) {
    return now.running && of(now, "source").activity == Activity::waiting_for_room &&
           of(now, "sink").activity == Activity::working && of(now, "sink").profile.blocks == 3 &&
           of(now, "sink").activity_s > 0.15;
  });
  EXPECT_GT(of(stalled, "sink").since_block_s, 0.15);
  EXPECT_EQ(of(stalled, "sink").profile.lane, "sink");
  ASSERT_EQ(stalled.rings.size(), 1u);
  EXPECT_EQ(stalled.rings[0].from, "source");
  EXPECT_EQ(stalled.rings[0].to, "sink");
  // Of the depth of 4 and the one that is written: the producer waits, since all are in use.
  EXPECT_EQ(stalled.rings[0].blocks, 5u);
  EXPECT_EQ(stalled.rings[0].in_use, 5u);
  EXPECT_GE(stalled.rings[0].waiting, 3u);
  EXPECT_EQ(stalled.total_samples, 700u);
  EXPECT_EQ(stalled.samples, 14u);  // of the blocks that the sink is done with
  // Time goes on for both, which are looked at one after the other, and nothing else moves.
  const Snapshot later = once(run, [&](const Snapshot& now) {
    return of(now, "sink").activity_s > of(stalled, "sink").activity_s + 0.05 &&
           of(now, "sink").profile.busy_s > of(stalled, "sink").profile.busy_s + 0.04 &&
           of(now, "source").profile.waiting_for_room_s >
               of(stalled, "source").profile.waiting_for_room_s + 0.04;
  });
  EXPECT_EQ(of(later, "sink").profile.blocks, 3u);
  EXPECT_GT(of(later, "sink").counters_age_s, 0.0);
  stalling.let_go.set_value();
  runs.join();
  const Snapshot end = run.snapshot();
  EXPECT_FALSE(end.running);
  EXPECT_TRUE(end.finished);
  EXPECT_EQ(end.error, "");
  EXPECT_EQ(end.samples, 700u);
  EXPECT_EQ(of(end, "sink").activity, Activity::finished);
  EXPECT_EQ(of(end, "sink").counters.at("tally"), 700u);
  EXPECT_EQ(end.run_s, run.profile().run_s);
  EXPECT_EQ(stalling.came.values, counted(700));
}

// Waits for somebody to send, between two blocks.
class Waiting final : public Node {
 public:
  explicit Waiting(std::shared_future<void> comes) : comes_(std::move(comes)) {}
  std::vector<Stream> open(std::span<const Stream>) override { return {numbers(1, 0)}; }
  bool live() const override { return true; }
  bool produce(Outputs& outputs) override {
    outputs.waits_for_others(true);
    ++waits_;
    comes_.wait_for(std::chrono::milliseconds(200));
    outputs.waits_for_others(false);
    if (comes_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return true;
    Block& block = outputs.begin();
    block.samples = 1;
    block.view<1>().as<std::int32_t>()(0) = 0;
    outputs.commit();
    return false;
  }
  Counters counters() const override { return {{"waits", waits_}}; }

 private:
  std::shared_future<void> comes_;
  std::uint64_t waits_ = 0;
};

TEST(EngineSnapshot, ASourceThatWaitsForOthersDoesNotWork) {
  std::promise<void> comes;
  Came came;
  Graph graph;
  const NodeId source = graph.add("source", std::make_unique<Waiting>(comes.get_future().share()));
  graph.connect(source, graph.add("sink", std::make_unique<Collecting>(came)));
  engine::Run run(std::move(graph), {.live_counters = true});
  std::jthread runs([&] { run.go(); });
  const Snapshot waiting = once(run, [](const Snapshot& now) {
    const NodeSnapshot waits = of(now, "source");
    return waits.activity == Activity::waiting_for_input && waits.profile.waiting_for_input_s > 1 &&
           waits.counters.contains("waits");
  });
  EXPECT_LT(of(waiting, "source").profile.busy_s, 0.5 * waiting.run_s);
  comes.set_value();
  runs.join();
  EXPECT_GT(run.profile().nodes[0].waiting_for_input_s, 1);
}

TEST(EngineSnapshot, ARunThatFailsSaysWhy) {
  Stalling stalling;
  Graph graph = stalling.graph({.depth = 4}, 70);
  engine::Run run(std::move(graph), {});
  EXPECT_EQ(run.snapshot().error, "");
  std::jthread stops([&] {
    once(run, [](const Snapshot& now) { return of(now, "sink").profile.blocks == 3; });
    stalling.let_go.set_exception(std::make_exception_ptr(
        core::Error(core::ErrorKind::io, "night.uvh5", "the disk is full", "room")));
  });
  EXPECT_THROW(run.go(), std::exception);
  const Snapshot end = run.snapshot();
  EXPECT_FALSE(end.running);
  EXPECT_FALSE(end.finished);
  EXPECT_NE(end.error, "");
  EXPECT_EQ(end.error.find('\n'), std::string::npos);
  EXPECT_EQ(run.failed_node(), "sink");
}

// Keeps its last two blocks until the end.
class Keeping final : public Collecting {
 public:
  explicit Keeping(Came& came) : Collecting(came) {}
  Needs needs(std::size_t, const Stream&) const override { return {.kept_blocks = 2}; }
  void process(std::size_t input, const Block& block, Outputs& outputs) override {
    Collecting::process(input, block, outputs);
    for (int twice = 0; twice < 2; ++twice) kept_.push_back(outputs.keep(block));
    while (kept_.size() > 4) kept_.pop_front();
  }
  void finish(Outputs& outputs) override {
    kept_.clear();
    Collecting::finish(outputs);
  }

 private:
  std::deque<std::shared_ptr<const Block>> kept_;
};

// The rings of one output share its blocks, so that the slowest may hold more than its depth.
TEST(EngineSnapshot, NoRingOfAForkHasMoreBlocksInUseThanThereAre) {
  Stalling stalling;
  Came fast, kept, seen;
  Graph graph = stalling.graph({.depth = 1}, 700);
  const NodeId source = 0;
  graph.connect(source, graph.add("fast", std::make_unique<Collecting>(fast)), {.depth = 4});
  graph.connect(source, graph.add("keeps", std::make_unique<Keeping>(kept)), {.depth = 2});
  graph.connect(source, graph.add("tap", std::make_unique<Collecting>(seen)),
                {.depth = 1, .policy = Policy::drop_oldest});
  engine::Run run(std::move(graph), {});
  std::jthread runs([&] { run.go(); });
  const auto fits = [](const Snapshot& now) {
    for (const RingSnapshot& ring : now.rings) EXPECT_LE(ring.in_use, ring.blocks) << ring.to;
  };
  const Snapshot stalled = once(run, [&](const Snapshot& now) {
    fits(now);
    // Both that are quick have taken what there is.
    return now.running && of(now, "source").activity == Activity::waiting_for_room &&
           of(now, "sink").profile.blocks == 3 && now.rings[1].in_use == 0 &&
           now.rings[2].in_use == 2 && now.rings[3].waiting == 0 && now.rings[0].waiting == 8;
  });
  ASSERT_EQ(stalled.rings.size(), 4u);
  // Of the depth of 4, one that is written, two that are kept and two of the tap.
  EXPECT_EQ(stalled.rings[0].blocks, 9u);
  EXPECT_EQ(stalled.rings[0].in_use, 9u);
  EXPECT_EQ(stalled.rings[3].blocks, 1u);
  stalling.let_go.set_value();
  while (!run.snapshot().finished) fits(run.snapshot());
  runs.join();
  for (const RingSnapshot& ring : run.snapshot().rings) EXPECT_EQ(ring.in_use, 0u) << ring.to;
  EXPECT_EQ(kept.values, counted(700));
}

TEST(EngineSnapshot, CountsDroppedBlocksWhileTheyAreDropped) {
  Stalling stalling;
  engine::Run run(stalling.graph({.depth = 2, .policy = Policy::drop_oldest}, 700), {});
  std::jthread runs([&] { run.go(); });
  const Snapshot stalled = once(run, [](const Snapshot& now) {
    return of(now, "source").activity == Activity::finished &&
           3 + now.rings[0].waiting + now.rings[0].dropped == 100;
  });
  EXPECT_EQ(of(stalled, "sink").profile.dropped, stalled.rings[0].dropped);
  EXPECT_GE(stalled.rings[0].dropped, 95u);
  EXPECT_EQ(of(stalled, "source").profile.blocks, 100u);
  stalling.let_go.set_value();
  runs.join();
  EXPECT_EQ(run.counters().at("sink.dropped_blocks"), stalled.rings[0].dropped);
}

// A sink that waits for input shows all that it has counted, though it counted the last of it a moment ago.
TEST(EngineSnapshot, ShowsTheCountersOfANodeThatWaitsForInput) {
  Came came;
  std::promise<void> let_go;
  Graph graph;
  auto counting = std::make_unique<Counting>(70);
  counting->pause = [blocks = 0, waits = let_go.get_future().share()]() mutable {
    if (++blocks == 5) waits.wait();
  };
  const NodeId source = graph.add("source", std::move(counting));
  graph.connect(source, graph.add("sink", std::make_unique<Tallying>(came)));
  engine::Run run(std::move(graph), {.live_counters = true});
  std::jthread runs([&] { run.go(); });
  const Snapshot waiting = once(run, [](const Snapshot& now) {
    const NodeSnapshot sink = of(now, "sink");
    return sink.counters.contains("tally") && sink.counters.at("tally") == 35;
  });
  EXPECT_EQ(of(waiting, "sink").activity, Activity::waiting_for_input);
  EXPECT_EQ(of(waiting, "source").activity, Activity::working);
  let_go.set_value();
  runs.join();
  EXPECT_EQ(of(run.snapshot(), "sink").counters.at("tally"), 70u);
}

// Any number of readers, at any time: for the thread sanitizer.
TEST(EngineSnapshot, MayBeTakenByManyThreads) {
  Came direct, added;
  Graph graph;
  const NodeId source = graph.add("source", std::make_unique<Counting>(70000));
  const NodeId adding = graph.add("adding", std::make_unique<Adding>(1));
  graph.connect(source, adding);
  graph.connect(adding, graph.add("added", std::make_unique<Tallying>(added)));
  graph.connect(source, graph.add("direct", std::make_unique<Tallying>(direct)),
                {.policy = Policy::drop_newest});
  engine::Run run(std::move(graph), {.live_counters = true});
  std::vector<std::jthread> readers;
  std::atomic<std::uint64_t> wrong = 0;
  for (int k = 0; k < 3; ++k)
    readers.emplace_back([&](const std::stop_token& stop) {
      std::uint64_t last = 0;
      while (!stop.stop_requested()) {
        const Snapshot now = run.snapshot();
        if (now.samples < last) ++wrong;
        last = now.samples;
      }
    });
  run.go();
  readers.clear();
  EXPECT_EQ(wrong, 0u);
  EXPECT_EQ(added.values, counted(70000, 1));
}

}  // namespace
}  // namespace tautline::engine

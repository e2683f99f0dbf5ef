#include "tautline/engine/run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>

#include "tests/engine/nodes.h"
#include "tests/support/few_threads.h"
#include "tests/support/rewriting_device.h"
#include "tests/support/seed.h"

namespace tautline::engine {
namespace {

using core::Error;

TEST(EngineRun, BlocksComeInOrderAndWhole) {
  for (const char* lane : {"", "one"}) {
    Came came;
    Graph graph;
    const NodeId source = graph.add("source", std::make_unique<Counting>(1000));
    const NodeId adding = graph.add("adding", std::make_unique<Adding>(5));
    const NodeId sink = graph.add("sink", std::make_unique<Collecting>(came));
    graph.connect(source, adding);
    graph.connect(adding, sink);
    for (const NodeId node : {source, adding, sink}) graph.set_lane(node, lane);
    engine::Run run(std::move(graph));
    run.go();
    EXPECT_EQ(came.values, counted(1000, 5));
    EXPECT_EQ(came.segment_starts, std::vector<std::uint64_t>{0});
    EXPECT_EQ(came.ended_segments, 1u);
    EXPECT_TRUE(came.finished && came.published);
  }
}

TEST(EngineRun, EverySegmentBeginsAndEnds) {
  Came came;
  Graph graph;
  const NodeId source = graph.add("source", std::make_unique<Counting>(100, 7, 30));
  graph.connect(source, graph.add("sink", std::make_unique<Collecting>(came)));
  engine::Run(std::move(graph)).go();
  EXPECT_EQ(came.values, counted(100));
  EXPECT_EQ(came.segment_starts.size(), 4u);
  EXPECT_EQ(came.ended_segments, 4u);
}

// Notes when its blocks came.
class Watching final : public Collecting {
 public:
  using Clock = std::chrono::steady_clock;
  Watching(Came& came, std::vector<Clock::time_point>& times) : Collecting(came), times_(times) {}
  void process(std::size_t input, const Block& block, Outputs& outputs) override {
    times_.push_back(Clock::now());
    Collecting::process(input, block, outputs);
  }

 private:
  std::vector<Clock::time_point>& times_;
};

TEST(EngineRun, NoBlockOfASourceWithAPaceComesBeforeItsSamplesWouldHave) {
  Came came;
  std::vector<Watching::Clock::time_point> times;
  Graph graph;
  const NodeId source = graph.add("source", std::make_unique<Counting>(150, 7, 40));
  graph.connect(source, graph.add("sink", std::make_unique<Watching>(came, times)));
  engine::Run run(std::move(graph), {.pace = 2.5});
  const auto begun = Watching::Clock::now();
  run.go();
  EXPECT_EQ(came.values, counted(150));
  std::uint64_t given = 0;
  for (std::size_t k = 0; k < times.size(); ++k) {
    given += std::min<std::uint64_t>({7, 150 - given, 40 - given % 40});
    EXPECT_GE(std::chrono::duration<double>(times[k] - begun).count(),
              static_cast<double>(given) / 1000 / 2.5)
        << k;
  }
  EXPECT_EQ(given, 150u);
  const Profile profile = run.profile();
  EXPECT_TRUE(profile.nodes.front().paced);
  EXPECT_FALSE(profile.nodes.back().paced);
  EXPECT_GE(profile.nodes.front().behind_s, 0);
}

TEST(EngineRun, ASourceWithAPaceSaysHowFarItFellBehind) {
  Came came;
  Graph graph;
  auto slow = std::make_unique<Collecting>(came);
  slow->pause = [] { sleep_ms(5); };
  const NodeId source = graph.add("source", std::make_unique<Counting>(70));
  graph.connect(source, graph.add("sink", std::move(slow)));
  engine::Run run(std::move(graph), {.pace = 1e5});
  run.go();
  EXPECT_EQ(came.values, counted(70));                     // it waits, and nothing is lost
  EXPECT_GT(run.profile().nodes.front().behind_s, 0.015);  // the last of ten blocks, some wait
}

TEST(EngineRun, AStopEndsTheWaitForAPace) {
  Came came;
  Graph graph;
  const NodeId source = graph.add("source", std::make_unique<Counting>(70));
  graph.connect(source, graph.add("sink", std::make_unique<Collecting>(came)));
  engine::Run run(std::move(graph), {.pace = 1e-9});
  std::jthread stopping;
  std::stop_source stop;
  stopping = std::jthread([&] {
    sleep_ms(20);
    stop.request_stop();
  });
  EXPECT_THROW(run.go(stop.get_token()), core::Error);
  EXPECT_FALSE(came.published);
}

TEST(EngineRun, AForkGivesEachConsumerEverything) {
  Came slow, fast, both;
  Graph graph;
  const NodeId source = graph.add("source", std::make_unique<Counting>(700));
  auto sleepy = std::make_unique<Collecting>(slow);
  sleepy->pause = [] { sleep_ms(5); };  // longer in all than a busy system holds a thread up
  const NodeId adding = graph.add("adding", std::make_unique<Adding>(-3));
  graph.connect(source, graph.add("slow", std::move(sleepy)));
  graph.connect(source, graph.add("fast", std::make_unique<Collecting>(fast)));
  graph.connect(source, adding);
  graph.connect(adding, graph.add("both", std::make_unique<Collecting>(both)));
  engine::Run run(std::move(graph));
  run.go();
  EXPECT_EQ(slow.values, counted(700));
  EXPECT_EQ(fast.values, counted(700));
  EXPECT_EQ(both.values, counted(700, -3));
  EXPECT_EQ(run.profile().bound_by, "slow");
}

TEST(EngineRun, ASlowSinkHoldsItsSourceUp) {
  Came came;
  std::atomic<std::int64_t> given = 0, taken = 0, most = 0;
  Graph graph;
  auto counting = std::make_unique<Counting>(400, 4);
  counting->pause = [&] { most = std::max<std::int64_t>(most, ++given - taken); };
  auto sink = std::make_unique<Collecting>(came);
  sink->pause = [&] {
    sleep_ms(1);
    ++taken;
  };
  const NodeId source = graph.add("source", std::move(counting));
  graph.connect(source, graph.add("sink", std::move(sink)), {.depth = 2});
  engine::Run(std::move(graph)).go();
  EXPECT_EQ(came.values, counted(400));
  EXPECT_LE(most, 4);  // two in the ring, one being written, one being counted
}

TEST(EngineRun, WhatARingDropsIsCountedAndBeginsASegment) {
  for (const Policy policy : {Policy::drop_oldest, Policy::drop_newest}) {
    Came slow, fast;
    Graph graph;
    auto counting = std::make_unique<Counting>(500, 5);
    counting->pause = [] { std::this_thread::sleep_for(std::chrono::microseconds(300)); };
    auto sink = std::make_unique<Collecting>(slow);
    sink->pause = [] { sleep_ms(4); };
    const NodeId source = graph.add("source", std::move(counting));
    graph.connect(source, graph.add("slow", std::move(sink)), {.depth = 3, .policy = policy});
    graph.connect(source, graph.add("fast", std::make_unique<Collecting>(fast)));
    engine::Run run(std::move(graph));
    run.go();
    EXPECT_EQ(fast.values, counted(500));
    const std::uint64_t dropped = run.counters()["slow.dropped_blocks"];
    EXPECT_GT(dropped, 0u);
    EXPECT_EQ(slow.values.size() + 5 * dropped, 500u);
    EXPECT_TRUE(std::is_sorted(slow.values.begin(), slow.values.end()));
    // A segment at each place where numbers are missing.
    std::size_t holes = 0;
    for (std::size_t k = 1; k < slow.values.size(); ++k)
      holes += slow.values[k] != slow.values[k - 1] + 1;
    EXPECT_EQ(slow.segment_starts.size(), slow.values.empty() ? 0 : holes + 1);
  }
}

class Failing : public Adding {
 public:
  Failing() : Adding(0) {}
  void process(std::size_t input, const Block& block, Outputs& outputs) override {
    if (block.first >= 70) throw Error(core::ErrorKind::format, "byte 70", "wrong", "right");
    Adding::process(input, block, outputs);
  }
};

TEST(EngineRun, TheFirstErrorEndsTheRunAndNamesItsNode) {
  for (const char* lane : {"", "one"}) {
    Came came, other;
    Graph graph;
    const NodeId source = graph.add("source", std::make_unique<Counting>(1u << 30));
    const NodeId failing = graph.add("failing", std::make_unique<Failing>());
    const NodeId sink = graph.add("sink", std::make_unique<Collecting>(came));
    graph.connect(source, failing);
    graph.connect(failing, sink);
    graph.connect(source, graph.add("other", std::make_unique<Collecting>(other)));
    for (const NodeId node : {source, failing, sink}) graph.set_lane(node, lane);
    engine::Run run(std::move(graph));
    EXPECT_EQ(refusal([&] { run.go(); }), "byte 70: wrong, expected right");
    EXPECT_EQ(run.failed_node(), "failing");
    EXPECT_FALSE(came.finished || came.published || other.published);
    EXPECT_LE(came.values.size(), 70u);
  }
}

TEST(EngineRun, AStopInterruptsFiles) {
  Came came;
  std::stop_source stop;
  Graph graph;
  const NodeId source = graph.add("source", std::make_unique<Counting>(std::uint64_t{1} << 40));
  auto sink = std::make_unique<Collecting>(came);
  sink->pause = [&] { stop.request_stop(); };
  graph.connect(source, graph.add("sink", std::move(sink)));
  engine::Run run(std::move(graph));
  EXPECT_NE(refusal([&] { run.go(stop.get_token()); }).find("interrupted"), std::string::npos);
  EXPECT_FALSE(came.finished || came.published);
}

class LiveCounting : public Counting {
 public:
  LiveCounting() : Counting(std::uint64_t{1} << 40) {}
  bool live() const override { return true; }
};

TEST(EngineRun, AStopEndsLiveStreamsAndKeepsWhatCame) {
  Came came;
  std::stop_source stop;
  Graph graph;
  const NodeId source = graph.add("source", std::make_unique<LiveCounting>());
  auto sink = std::make_unique<Collecting>(came);
  sink->pause = [&] {
    if (came.values.size() > 100) stop.request_stop();
  };
  graph.connect(source, graph.add("sink", std::move(sink)));
  engine::Run(std::move(graph)).go(stop.get_token());
  EXPECT_TRUE(came.finished && came.published);
  EXPECT_GT(came.values.size(), 100u);
  EXPECT_EQ(came.values, counted(came.values.size()));
}

TEST(EngineRun, RandomGraphsLoseNothing) {
  std::mt19937 random(tests::seed());
  for (int round = 0; round < 20; ++round) {
    const auto total = 1 + random() % 2000;
    std::vector<std::unique_ptr<Came>> came;
    std::vector<std::int32_t> sums{0};
    std::vector<NodeId> nodes;
    Graph graph;
    nodes.push_back(
        graph.add("0", std::make_unique<Counting>(total, 1 + random() % 50, 1 + random() % 700)));
    const std::size_t stages = random() % 8;
    for (std::size_t k = 0; k < stages; ++k) {
      const std::size_t from = random() % nodes.size();
      const auto number = static_cast<std::int32_t>(random() % 100);
      nodes.push_back(graph.add(std::to_string(nodes.size()), std::make_unique<Adding>(number)));
      sums.push_back(sums[from] + number);
      graph.connect(nodes[from], nodes.back(), {.depth = 1 + random() % 4});
      if (random() % 2) graph.set_lane(nodes.back(), "lane " + std::to_string(nodes.size()));
    }
    for (std::size_t k = 0; k < nodes.size(); ++k) {
      came.push_back(std::make_unique<Came>());
      graph.connect(nodes[k], graph.add("sink " + std::to_string(k),
                                        std::make_unique<Collecting>(*came.back())));
    }
    engine::Run(std::move(graph)).go();
    for (std::size_t k = 0; k < nodes.size(); ++k)
      EXPECT_EQ(came[k]->values, counted(total, sums[k]));
  }
}

TEST(EngineRun, MemoryIsCountedBeforeItIsTaken) {
  Came came;
  const auto build = [&] {
    Graph graph;
    const NodeId source = graph.add("source", std::make_unique<Counting>(10, std::size_t{1} << 20));
    graph.connect(source, graph.add("sink", std::make_unique<Collecting>(came)));
    return graph;
  };
  EXPECT_EQ(engine::Run(build()).bytes().host_bytes, std::size_t{3} * 4 << 20);
  EXPECT_NE(
      refusal([&] { engine::Run(build(), {.memory_bytes = 1 << 20}); }).find("12 MiB, is source's"),
      std::string::npos);
}

TEST(EngineRun, BlocksThatFindNoRoomAreOfANode) {
  Came came;
  Graph graph;
  const NodeId source = graph.add("source", std::make_unique<Counting>(10));
  const NodeId large =
      graph.add("large", std::make_unique<Counting>(10, std::size_t{1} << 58));  // an exbibyte
  graph.connect(source, graph.add("sink", std::make_unique<Collecting>(came)));
  graph.connect(large, graph.add("other", std::make_unique<Collecting>(came)));
  engine::Run run(std::move(graph));
  EXPECT_ANY_THROW(run.go());
  EXPECT_EQ(run.failed_node(), "large");
}

/// A device that was lost: it makes no queues.
class LostDevice final : public tests::RewritingDevice {
 public:
  LostDevice() : RewritingDevice(device::open({}), {}) {}
  std::unique_ptr<device::Queue> make_queue() const override {
    throw core::Error(core::ErrorKind::device, "lost", "queue", "");
  }
};

class WantingQueue final : public Collecting {
 public:
  using Collecting::Collecting;
  void process(std::size_t, const Block&, Outputs& outputs) override {
    outputs.queue(std::make_shared<LostDevice>());
  }
};

TEST(EngineRun, AQueueThatCannotBeMadeEndsTheRun) {
  Came came;
  Graph graph;
  const NodeId source = graph.add("source", std::make_unique<Counting>(10));
  graph.connect(source, graph.add("wanting", std::make_unique<WantingQueue>(came)));
  engine::Run run(std::move(graph));
  EXPECT_THROW(run.go(), core::Error);
  EXPECT_EQ(run.failed_node(), "wanting");
}

// The others wait for nobody, and nothing flows.
TEST(EngineRun, ThreadsThatTheSystemRefusesEndTheRun) {
  std::array<Came, 10> came;
  Graph graph;
  const NodeId source = graph.add("source", std::make_unique<Counting>(1000));
  for (std::size_t k = 0; k < came.size(); ++k)
    graph.connect(source,
                  graph.add("sink" + std::to_string(k), std::make_unique<Collecting>(came[k])));
  engine::Run run(std::move(graph));
  const tests::FewThreads few;
  const std::string said = refusal([&] { run.go(); });
  EXPECT_NE(said.find("threads: "), std::string::npos) << said;
  EXPECT_NE(said.find("expected 11, "), std::string::npos) << said;
  for (const Came& one : came) {
    EXPECT_TRUE(one.values.empty());
    EXPECT_FALSE(one.published);
  }
}

TEST(EngineRun, ProgressComesToItsEnd) {
  Came came;
  std::uint64_t last = 0, all = 0;
  Graph graph;
  const NodeId source = graph.add("source", std::make_unique<Counting>(1000));
  graph.connect(source, graph.add("sink", std::make_unique<Collecting>(came)));
  engine::Run(std::move(graph), {.progress =
                                     [&](std::uint64_t samples, std::uint64_t total) {
                                       EXPECT_GE(samples, last);
                                       last = samples;
                                       all = total;
                                     }})
      .go();
  EXPECT_EQ(last, 1000u);
  EXPECT_EQ(all, 1000u);
}

TEST(EngineRun, TheProfileSaysWhatBoundsTheRun) {
  Came came;
  Graph graph;
  auto sink = std::make_unique<Collecting>(came);
  sink->pause = [] { sleep_ms(10); };  // longer in all than a busy system holds a thread up
  const NodeId source = graph.add("source", std::make_unique<Counting>(350));
  const NodeId adding = graph.add("adding", std::make_unique<Adding>(0));
  graph.connect(source, adding);
  graph.connect(adding, graph.add("sink", std::move(sink)));
  engine::Run run(std::move(graph));
  run.go();
  const Profile profile = run.profile();
  EXPECT_EQ(profile.bound_by, "sink");
  ASSERT_EQ(profile.nodes.size(), 3u);
  EXPECT_EQ(profile.nodes[0].bytes, 350u * 4);
  EXPECT_EQ(profile.nodes[2].blocks, 50u);
  EXPECT_GE(profile.nodes[2].busy_s, 0.1);
  EXPECT_GT(profile.nodes[0].waiting_for_room_s, profile.nodes[0].busy_s);
  EXPECT_EQ(profile.nodes[0].kind, NodeKind::source);
  EXPECT_EQ(profile.nodes[1].kind, NodeKind::stage);
  EXPECT_EQ(profile.nodes[2].kind, NodeKind::sink);
  EXPECT_NE(to_text(profile).find("bound by sink"), std::string::npos);
}

TEST(EngineGraph, RefusesWhatCannotRun) {
  Came came;
  const auto adding = [] { return std::make_unique<Adding>(1); };
  const auto message = [](const std::function<void(Graph&)>& build) {
    return refusal([&] {
      Graph graph;
      build(graph);
      engine::Run run(std::move(graph));
    });
  };
  const auto contains = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos ? testing::AssertionSuccess()
                                                : testing::AssertionFailure() << text;
  };
  EXPECT_TRUE(contains(message([&](Graph& g) {
                         g.add("a", adding());
                         g.add("a", adding());
                       }),
                       "names that differ"));
  EXPECT_TRUE(contains(message([&](Graph& g) {
                         const NodeId source = g.add("source", std::make_unique<Counting>(1));
                         const NodeId a = g.add("a", adding()), b = g.add("b", adding());
                         g.connect(source, {a, 1});
                         g.connect(b, {a, 0});
                         g.connect(a, b);
                       }),
                       "without circles"));
  EXPECT_TRUE(contains(message([&](Graph& g) {
                         const NodeId source = g.add("source", std::make_unique<Counting>(1));
                         const NodeId a = g.add("a", adding());
                         g.connect(source, a);
                         g.connect(source, a);
                       }),
                       "connected twice"));
  EXPECT_TRUE(contains(message([&](Graph& g) {
                         const NodeId source = g.add("source", std::make_unique<Counting>(1));
                         g.connect(source, {g.add("a", adding()), 1});
                       }),
                       "numbered from 0"));
  EXPECT_TRUE(contains(message([&](Graph& g) {
                         const NodeId source = g.add("source", std::make_unique<Counting>(1));
                         g.connect({source, 2}, g.add("a", adding()));
                       }),
                       "a number below 1: it has 1 output"));
  EXPECT_TRUE(contains(message([&](Graph& g) {
                         const NodeId source = g.add("source", std::make_unique<Counting>(1));
                         const NodeId a = g.add("a", adding()), b = g.add("b", adding()),
                                      c = g.add("c", adding());
                         g.connect(source, a);
                         g.connect(a, b);
                         g.connect(b, c);
                         g.set_lane(a, "x");
                         g.set_lane(b, "y");
                         g.set_lane(c, "x");
                       }),
                       "in a circle"));
  EXPECT_TRUE(contains(message([&](Graph& g) { g.connect(g.add("a", adding()), 1); }),
                       "nodes of this graph"));
  EXPECT_TRUE(contains(message([&](Graph& g) {
                         const NodeId source = g.add("source", std::make_unique<Counting>(1));
                         g.connect(source, g.add("a", adding()), {.depth = 0});
                       }),
                       "1 or more"));
  EXPECT_TRUE(contains(message([&](Graph& g) {
                         for (const char* name : {"a", "b"})
                           g.set_lane(g.add(name, std::make_unique<Counting>(1)), "x");
                       }),
                       "one source a lane"));
  EXPECT_TRUE(contains(message([&](Graph& g) {
                         const NodeId source = g.add("source", std::make_unique<Counting>(1));
                         const NodeId other = g.add("other", std::make_unique<Counting>(1));
                         const NodeId a = g.add("a", adding());
                         g.connect(source, a);
                         g.set_lane(a, "x");
                         g.set_lane(other, "x");
                       }),
                       "beside its source"));
  EXPECT_TRUE(contains(message([](Graph&) {}), "a source at least"));
}

}  // namespace
}  // namespace tautline::engine

// The rate to expect of a graph: devices work side by side, nodes of one device take turns.
#include "tautline/pipeline/graph_file/expected_rate.h"

#include <gtest/gtest.h>

#include "tests/engine/nodes.h"

namespace tautline::pipeline {
namespace {

class Loaded final : public engine::Adding {
 public:
  explicit Loaded(engine::Load load) : Adding(1), load_(std::move(load)) {}
  std::optional<engine::Load> expected_load() const override { return load_; }

 private:
  engine::Load load_;
};

// Numbers through stages of these loads.
ExpectedRate rate_of(const std::vector<engine::Load>& loads) {
  engine::Graph graph;
  engine::Came came;
  engine::NodeId last = graph.add("numbers", std::make_unique<engine::Counting>(100));
  for (std::size_t k = 0; k < loads.size(); ++k) {
    const engine::NodeId next =
        graph.add("stage" + std::to_string(k), std::make_unique<Loaded>(loads[k]));
    graph.connect(last, next);
    last = next;
  }
  graph.connect(last, graph.add("sink", std::make_unique<engine::Collecting>(came)));
  return expected_rate(engine::Run(std::move(graph)));
}

TEST(ExpectedRate, IsBoundByTheDeviceWithMostToDo) {
  const ExpectedRate rate =
      rate_of({{0.25, "here"}, {0.375, "there"}, {0.125, "here"}, {0.0625, "here"}});
  EXPECT_EQ(rate.busiest.device, "here");
  EXPECT_DOUBLE_EQ(rate.busiest.seconds, 0.4375);
  EXPECT_EQ(rate.bound_by, "stage0");
  EXPECT_DOUBLE_EQ(rate.real_time_factor(), 1 / 0.4375);
  EXPECT_EQ(rate.not_measured, (std::vector<std::string>{"numbers", "sink"}));
  EXPECT_EQ(rate.measured.size(), 4u);
  EXPECT_GT(rate.stream_s, 0);
  const std::string text = describe(rate);
  for (const char* said : {"stage1: 0.375 s for 1 s of data (there)", "not measured: numbers, sink",
                           "bound by stage0 (here): at most about 2.29 x real time"})
    EXPECT_NE(text.find(said), std::string::npos) << text;
}

TEST(ExpectedRate, OfNothingMeasuredIsNotKnown) {
  const ExpectedRate rate = rate_of({});
  EXPECT_TRUE(rate.bound_by.empty());
  const std::string text = describe(rate);
  EXPECT_NE(text.find("nothing is known of the rate"), std::string::npos) << text;
  EXPECT_EQ(text.find("real time"), std::string::npos) << text;
}

}  // namespace
}  // namespace tautline::pipeline

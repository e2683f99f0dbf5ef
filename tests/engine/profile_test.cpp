// The last line of a profile: the node that bounds the run, its thread or device, and advice.
#include "tautline/engine/profile.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace tautline::engine {
namespace {

NodeProfile node(const std::string& name, NodeKind kind, double busy_s, double device_s = 0) {
  NodeProfile made;
  made.node = made.lane = name;
  made.kind = kind;
  made.busy_s = busy_s;
  made.device_s = device_s;
  return made;
}

Profile concluded(double run_s, std::vector<NodeProfile> nodes) {
  Profile profile;
  profile.run_s = run_s;
  profile.setup_s = 0.035;
  profile.nodes = std::move(nodes);
  conclude(profile);
  return profile;
}

std::string last_line(const Profile& profile) {
  const std::string text = to_text(profile);
  return text.substr(text.rfind('\n', text.size() - 2) + 1);
}

constexpr NodeKind kSource = NodeKind::source, kStage = NodeKind::stage, kSink = NodeKind::sink,
                   kCopy = NodeKind::copy;

// Times as they were measured: docs/performance/data/whole_runs.txt, `seconds=200,pulses=7`.
TEST(Profile, ADeviceThatItsThreadWaitsForInsideTheNodeBounds) {
  const Profile profile = concluded(
      0.460, {node("filterbank", kSource, 0.293), node("filterbank to gpu", kCopy, 0.020, 0.425),
              node("search", kStage, 0.453, 0.447), node("candidates", kSink, 0.001)});
  EXPECT_EQ(profile.bound_by, "search");
  EXPECT_NEAR(profile.efficiency, 0.447 / 0.460, 1e-12);
  EXPECT_NEAR(profile.stages_share, 0.453 / 0.460, 1e-12);
  EXPECT_EQ(last_line(profile),
            "bound by search: its device worked 97 % of 0.460 s (set-up 0.035 s); a faster device, "
            "or several, would raise the rate\n");
}

// `bright`: the host's part of the search takes a fifth of its time.
TEST(Profile, AThreadThatWorksBesideItsDeviceBounds) {
  const Profile profile =
      concluded(0.279, {node("filterbank", kSource, 0.045), node("search", kStage, 0.271, 0.222)});
  EXPECT_NEAR(profile.efficiency, 0.271 / 0.279, 1e-12);
  EXPECT_EQ(last_line(profile),
            "bound by search: its thread worked 97 % of 0.279 s (set-up 0.035 s); faster "
            "cores would raise the rate\n");
}

TEST(Profile, AStageOnTheHostIsToldOfCoresAndGpus) {
  EXPECT_EQ(last_line(concluded(1, {node("source", kSource, 0.5), node("f", kStage, 0.96)})),
            "bound by f: its thread worked 96 % of 1.000 s (set-up 0.035 s); more cores, or a GPU, "
            "would raise the rate\n");
}

TEST(Profile, ADeviceOfAThreadThatOnlyEnqueuesBounds) {
  EXPECT_EQ(last_line(concluded(2, {node("source", kSource, 1.8), node("f", kStage, 0.1, 1.9)})),
            "bound by f: its device worked 95 % of 2.000 s (set-up 0.035 s); a faster device, or "
            "several, would raise the rate\n");
}

TEST(Profile, ASourceIsToldOfItsStorage) {
  EXPECT_EQ(
      last_line(concluded(
          0.714, {node("voltages", kSource, 0.691), node("voltages to gpu", kCopy, 0.041, 0.418)})),
      "bound by voltages: its thread worked 97 % of 0.714 s (set-up 0.035 s); reading: faster "
      "storage, or files in the page cache; receiving or simulating: more cores\n");
}

TEST(Profile, ASinkIsToldOfItsDisk) {
  EXPECT_EQ(
      last_line(concluded(
          0.833, {node("dedisperse", kStage, 0.011, 0.423), node("series", kSink, 0.817)})),
      "bound by series: its thread worked 98 % of 0.833 s (set-up 0.035 s); writing: a faster "
      "disk, or less output (averages, fewer trials)\n");
}

TEST(Profile, ACopyIsToldOfItsLink) {
  EXPECT_EQ(
      last_line(concluded(1, {node("x", kStage, 0.1, 0.5), node("x to gpu", kCopy, 0.2, 0.9)})),
      "bound by x to gpu: its device worked 90 % of 1.000 s (set-up 0.035 s); copying: a "
      "faster link to the device, or samples of fewer bits\n");
}

TEST(Profile, ARunThatNothingBoundsIsToldSo) {
  for (const NodeKind kind : {kSource, kStage, kSink, kCopy})
    EXPECT_EQ(last_line(concluded(1, {node("only", kind, 0.69)})),
              "bound by only: its thread worked 69 % of 1.000 s (set-up 0.035 s); a longer run or "
              "more memory for its blocks would keep it busier\n");
}

// The times of a lane's nodes add up, and the one with most of them is named.
TEST(Profile, NodesOfALaneTakeTurns) {
  NodeProfile f = node("f", kStage, 0.3), x = node("x", kStage, 0.5);
  f.lane = x.lane = "cpu";
  const Profile profile = concluded(1, {node("source", kSource, 0.7), f, x});
  EXPECT_EQ(profile.bound_by, "x");
  EXPECT_NEAR(profile.efficiency, 0.8, 1e-12);
}

// Those of lanes that work side by side too; sources, copies and sinks are none.
TEST(Profile, TimesOfStagesAddUp) {
  const Profile profile =
      concluded(2, {node("source", kSource, 1.9), node("to gpu", kCopy, 0.1, 1.5),
                    node("f", kStage, 0.2, 0.7), node("x", kStage, 0.4), node("file", kSink, 1.8)});
  EXPECT_NEAR(profile.stages_share, 1.1 / 2, 1e-12);
  EXPECT_EQ(concluded(0, {node("f", kStage, 0)}).stages_share, 0);
}

}  // namespace
}  // namespace tautline::engine

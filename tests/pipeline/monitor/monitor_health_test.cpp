// The monitor's statements about a run, and that it reports no movement that it has not seen.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "tautline/formats/partial_file.h"
#include "tautline/pipeline/monitor/health.h"
#include "tests/support/scratch.h"

namespace tautline::pipeline::monitor {
namespace {

using engine::Activity;

engine::NodeSnapshot node(const std::string& name, bool source, Activity activity,
                          double activity_s, std::uint64_t blocks) {
  engine::NodeSnapshot made;
  made.profile.node = name;
  made.profile.lane = name;
  made.profile.blocks = blocks;
  made.source = source;
  made.activity = activity;
  made.activity_s = activity_s;
  return made;
}

// A source, a sink, and a tap, which nobody is told of.
engine::Snapshot snapshot(double run_s, std::uint64_t blocks) {
  engine::Snapshot made;
  made.running = true;
  made.run_s = run_s;
  made.samples = 1000 * blocks;
  made.nodes = {node("receivers", true, Activity::working, 0.1, blocks),
                node("file", false, Activity::waiting_for_input, 0.1, blocks),
                node("monitor of receivers", false, Activity::waiting_for_input, 0.1, blocks)};
  made.rings = {{"receivers", "file", 0, 1, 5, engine::Policy::wait, 0},
                {"receivers", "monitor of receivers", 1, 1, 1, engine::Policy::drop_oldest, 77}};
  made.nodes[2].profile.dropped = 77;
  return made;
}

HealthConfig quiet() {
  HealthConfig config;
  config.pipeline = "night.toml";
  config.rate_hz = 1000;
  return config;
}

std::string problems(const nlohmann::ordered_json& status) {
  std::string text;
  for (const auto& one : status["problems"]) text += one.get<std::string>() + "\n";
  return text;
}

TEST(MonitorHealth, ReceivesOnlyWhileBlocksOrCountersMove) {
  Health health(quiet());
  nlohmann::ordered_json status = health.update(snapshot(0.1, 0), 100);
  EXPECT_FALSE(status["nodes"][0]["receiving"]);  // nothing has come
  EXPECT_EQ(problems(status), "");                // and could not have
  status = health.update(snapshot(2, 0), 102);
  EXPECT_FALSE(status["nodes"][0]["receiving"]);
  EXPECT_EQ(problems(status), "receivers: nothing received yet, for 2.0 s\n");
  status = health.update(snapshot(2.5, 5), 102.5);
  EXPECT_TRUE(status["nodes"][0]["receiving"]);
  EXPECT_EQ(problems(status), "");
  status = health.update(snapshot(3.4, 5), 103.4);
  EXPECT_TRUE(status["nodes"][0]["receiving"]);
  EXPECT_EQ(status["nodes"][0]["unchanged_s"], 0.9);
  status = health.update(snapshot(3.8, 5), 103.8);
  EXPECT_FALSE(status["nodes"][0]["receiving"]);
  EXPECT_EQ(problems(status), "receivers: nothing received for 1.3 s\n");
  // Counters alone: packets come, and no block is full yet.
  engine::Snapshot counted = snapshot(4, 5);
  counted.nodes[0].counters = {{"packets", 10}};
  EXPECT_TRUE(health.update(counted, 104)["nodes"][0]["receiving"]);
  // A source that waits for others is not dead; a node that is over does not receive.
  counted.nodes[0].activity = Activity::waiting_for_room;
  status = health.update(counted, 106);
  EXPECT_FALSE(status["nodes"][0]["receiving"]);
  EXPECT_EQ(problems(status), "");
  counted.nodes[0].activity = Activity::finished;
  EXPECT_EQ(problems(health.update(counted, 107)), "");
  EXPECT_FALSE(status["nodes"][1].contains("receiving"));
}

// A run begins when its nodes have started, which may need the first data of a live source.
TEST(MonitorHealth, ASourceIsWatchedFromWhenItIsRead) {
  Health health(quiet());
  engine::Snapshot run = snapshot(0, 0);
  run.running = false;
  for (engine::NodeSnapshot& one : run.nodes) one.activity = Activity::starting;
  EXPECT_EQ(problems(health.update(run, 100)), "");  // as while kernels are compiled
  EXPECT_EQ(problems(health.update(run, 130)), "");
  engine::NodeSnapshot& source = run.nodes[0];
  source.activity = Activity::waiting_for_input;
  source.activity_s = 1.5;
  source.counters = {{"received_bytes", 0}, {"samples", 0}};
  nlohmann::ordered_json status = health.update(run, 131.5);
  EXPECT_EQ(status["state"], "starting");
  EXPECT_FALSE(status["nodes"][0]["receiving"]);
  EXPECT_EQ(problems(status), "receivers: nothing received yet, for 1.5 s\n");
  source.problems = {"receiver 4 of 4 is not connected yet, for 2.0 s"};
  source.activity_s = 2;
  source.counters["received_bytes"] = 340;
  status = health.update(run, 132);
  EXPECT_TRUE(status["nodes"][0]["receiving"]);
  EXPECT_EQ(problems(status), "receivers: receiver 4 of 4 is not connected yet, for 2.0 s\n");
  status = health.update(run, 134);  // the others wait for the fourth
  EXPECT_FALSE(status["nodes"][0]["receiving"]);
  EXPECT_EQ(problems(status), "receivers: receiver 4 of 4 is not connected yet, for 2.0 s\n");
  source.problems.clear();
  EXPECT_EQ(problems(health.update(run, 134.5)), "receivers: nothing received for 2.5 s\n");
  source.activity = Activity::starting;  // its first data have been read
  status = health.update(run, 135);
  EXPECT_FALSE(status["nodes"][0]["receiving"]);
  EXPECT_EQ(problems(status), "");
}

// Those of a node that is over are none.
TEST(MonitorHealth, ANodesOwnProblemsAreTold) {
  Health health(quiet());
  engine::Snapshot run = snapshot(3, 3);
  run.nodes[0].problems = {"receiver 3 of 4 is silent, for 1.2 s"};
  EXPECT_EQ(problems(health.update(run, 10)), "receivers: receiver 3 of 4 is silent, for 1.2 s\n");
  run.nodes[0].activity = Activity::finished;
  EXPECT_EQ(problems(health.update(run, 11)), "");
}

// Packets that are all refused are no sign of a stream.
TEST(MonitorHealth, PacketsOfOthersAreNotReceived) {
  Health health(quiet());
  engine::Snapshot run = snapshot(3, 0);
  run.nodes[0].counters = {{"packets", 7}, {"received_bytes", 700}, {"accepted", 0}};
  run.nodes[0].problems = {"nothing of boards yet: 7 packets, 7 of others"};
  const nlohmann::ordered_json status = health.update(run, 10);
  EXPECT_FALSE(status["nodes"][0]["receiving"]);
  EXPECT_EQ(problems(status),
            "receivers: nothing of boards yet: 7 packets, 7 of others\n"
            "receivers: nothing received yet, for 3.0 s\n");
  run.nodes[0].counters["accepted"] = 1;
  EXPECT_TRUE(health.update(run, 10.1)["nodes"][0]["receiving"]);
}

TEST(MonitorHealth, ASinkThatStallsIsNamed) {
  Health health(quiet());
  engine::Snapshot run = snapshot(5, 7);
  run.nodes[1].activity = Activity::working;
  run.nodes[1].activity_s = 1.4;
  nlohmann::ordered_json status = health.update(run, 10);
  EXPECT_FALSE(status["nodes"][1]["stalled"]);  // nothing waits for it
  run.rings[0].waiting = 3;
  status = health.update(run, 10.1);
  EXPECT_TRUE(status["nodes"][1]["stalled"]);
  EXPECT_EQ(problems(status), "file: has been at one block for 1.4 s, and 3 wait for it\n");
  run.nodes[1].profile.busy_s = 6 * 0.6 + 1.4;  // blocks take 0.6 s otherwise
  EXPECT_EQ(problems(health.update(run, 10.15)), "");
  run.nodes[1].activity_s = 0.5;
  EXPECT_EQ(problems(health.update(run, 10.2)), "");
}

TEST(MonitorHealth, LossesAreNamedByKindAndThoseOfTapsAreNone) {
  Health health(quiet());
  engine::Snapshot run = snapshot(1, 1);
  run.nodes[0].counters = {{"samples", 1000}, {"lost_packets", 0}, {"duplicate_packets", 2}};
  run.nodes[1].profile.dropped = 4;
  nlohmann::ordered_json status = health.update(run, 10);
  EXPECT_EQ(status["nodes"].size(), 2u);
  EXPECT_EQ(status["rings"].size(), 1u);
  ASSERT_EQ(status["losses"].size(), 2u);
  EXPECT_EQ(status["losses"][0]["kind"], "duplicate_packets");
  EXPECT_EQ(status["losses"][1]["node"], "file");
  EXPECT_EQ(status["losses"][1]["kind"], "dropped_blocks");
  EXPECT_EQ(status["losses"][1]["count"], 4);
  EXPECT_NE(problems(status).find("file: dropped_blocks now 4"), std::string::npos);
  run = snapshot(15, 15);
  run.nodes[1].profile.dropped = 4;
  health.update(run, 23.9);
  status = health.update(run, 24);
  EXPECT_EQ(problems(status), "");  // long ago; the count stays
  EXPECT_EQ(status["losses"][0]["unchanged_s"], 14.0);
}

TEST(MonitorHealth, RatesAreOfTheLastSecondsAndTheWholeRun) {
  HealthConfig config = quiet();
  config.recent_s = 2;
  Health health(config);
  nlohmann::ordered_json status;
  for (std::uint64_t k = 0; k <= 10;
       ++k)  // a block of 1 s each second, and twice that in the last two
    status = health.update(snapshot(static_cast<double>(k), k + (k == 9    ? 1
                                                                 : k == 10 ? 2
                                                                           : 0)),
                           50 + static_cast<double>(k));
  EXPECT_EQ(status["progress"]["recent_real_time_factor"], 2.0);
  EXPECT_EQ(status["progress"]["real_time_factor"], 1.2);
  EXPECT_EQ(status["progress"]["data_s"], 12.0);
  EXPECT_EQ(status["nodes"][0]["load"], 0.0);
  // The work of a source that waits for others is partly waiting.
  config.live = {"receivers"};
  Health live(config);
  live.update(snapshot(1, 1), 1);
  status = live.update(snapshot(2, 2), 2);
  EXPECT_TRUE(status["nodes"][0]["load"].is_null());
  EXPECT_EQ(status["nodes"][0]["activity"], "working or waiting for data");
  // Unless it says when it waits.
  engine::Snapshot says = snapshot(3, 3);
  says.nodes[0].profile.waiting_for_input_s = 0.4;
  EXPECT_EQ(live.update(says, 3)["nodes"][0]["load"], 0.0);
  EXPECT_EQ(status["nodes"][1]["load"], 0.0);
}

// Of a node's thread and of its device.
TEST(MonitorHealth, LoadsAreOfTheLastSeconds) {
  HealthConfig config = quiet();
  config.recent_s = 2;
  Health health(config);
  nlohmann::ordered_json status;
  for (int k = 0; k <= 8; ++k) {  // idle for 4 s, then busy
    const double worked_s = std::max(0, k - 4);
    engine::Snapshot run = snapshot(k, static_cast<std::uint64_t>(k));
    run.nodes[1].profile.busy_s = 0.5 * worked_s;
    run.nodes[1].profile.device_s = 0.25 * worked_s;
    status = health.update(run, 100 + k);
    if (k != 4) continue;
    EXPECT_EQ(status["nodes"][1]["load"], 0.0);
    EXPECT_EQ(status["nodes"][1]["device_load"], 0.0);
  }
  EXPECT_EQ(status["nodes"][1]["load"], 0.5);
  EXPECT_EQ(status["nodes"][1]["device_load"], 0.25);
  EXPECT_EQ(status["nodes"][0]["load"], 0.0);
  const std::string text = prometheus_text(status);
  EXPECT_NE(text.find("\ntautline_node_load{node=\"file\"} 0.5\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\ntautline_node_device_load{node=\"file\"} 0.25\n"), std::string::npos);
}

TEST(MonitorHealth, ARunThatFailsIsNotCalledFinished) {
  Health health(quiet());
  engine::Snapshot run = snapshot(3, 3);
  EXPECT_EQ(health.update(run, 3)["state"], "running");
  run.running = false;  // its files have no names yet
  EXPECT_EQ(health.update(run, 4)["state"], "finishing");
  engine::Snapshot failed = run;
  run.finished = true;
  const nlohmann::ordered_json finished = health.update(run, 5);
  EXPECT_EQ(finished["state"], "finished");
  EXPECT_TRUE(finished["error"].is_null());
  EXPECT_EQ(problems(finished), "");
  failed.error = "night.uvh5: the disk is full";
  const nlohmann::ordered_json status = health.update(failed, 5);
  EXPECT_EQ(status["state"], "failed");
  EXPECT_EQ(status["error"], failed.error);
  EXPECT_EQ(problems(status), "failed: night.uvh5: the disk is full\n");
  EXPECT_NE(prometheus_text(status).find("tautline_failed 1\n"), std::string::npos);
  EXPECT_NE(prometheus_text(status).find("tautline_running 0\n"), std::string::npos);
}

TEST(MonitorHealth, WritesOnlyWhileBytesMoveOnTheDisk) {
  const tests::ScratchFolder scratch;
  const std::string path = scratch / "night.uvh5";
  HealthConfig config = quiet();
  config.files = {{"file", path}};
  Health health(config);
  const auto look = [&](double now_s) {
    return health.update(snapshot(now_s, 1), now_s)["files"][0];
  };
  EXPECT_FALSE(look(1)["exists"]);
  std::ofstream(path) << "of an earlier run";
  Health later(config);
  EXPECT_FALSE(later.update(snapshot(1, 1), 1)["files"][0]["writing"]);  // it was there
  EXPECT_TRUE(look(2)["writing"]);                                       // it was not
  std::ofstream(formats::partial_name(path)) << "12345";
  EXPECT_TRUE(look(3)["writing"]);
  EXPECT_EQ(look(3.5)["bytes"], 5);
  EXPECT_TRUE(look(3.9)["writing"]);
  EXPECT_FALSE(look(4.1)["writing"]);
  EXPECT_EQ(look(5)["unchanged_s"], 2.0);
  std::ofstream(formats::partial_name(path), std::ios::app) << "6";
  EXPECT_EQ(look(5.1)["bytes"], 6);
  EXPECT_TRUE(look(5.1)["writing"]);
}

TEST(MonitorHealth, AFullDiskIsNamed) {
  HealthConfig config = quiet();
  config.files = {{"file", "/data/night.uvh5"}};
  std::uint64_t free_bytes = std::uint64_t{1} << 40;
  config.look = [&](const std::string&) { return FileState{true, 10, 1, free_bytes}; };
  Health health(config);
  EXPECT_EQ(problems(health.update(snapshot(1, 1), 1)), "");
  free_bytes = std::uint64_t{12} << 20;
  EXPECT_EQ(problems(health.update(snapshot(1.5, 2), 1.5)),
            "file: 12 MiB left on the disk of /data/night.uvh5\n");
}

TEST(MonitorHealth, MetricsAreOfOneFormAndEscaped) {
  HealthConfig config = quiet();
  config.files = {{"a\"b\\c\nd", "/data/x"}};
  config.look = [](const std::string&) { return FileState{true, 10, 1, std::uint64_t{1} << 40}; };
  Health health(config);
  engine::Snapshot run = snapshot(2, 3);
  run.nodes[0].counters = {{"samples", 18446744073709551615ull}};
  const std::string text = prometheus_text(health.update(run, 1));
  EXPECT_NE(
      text.find(
          "\ntautline_count_total{node=\"receivers\",name=\"samples\"} 18446744073709551615\n"),
      std::string::npos);
  EXPECT_NE(text.find("tautline_file_bytes{node=\"a\\\"b\\\\c\\nd\",path=\"/data/x\"} 10\n"),
            std::string::npos);
  EXPECT_NE(text.find("\ntautline_source_receiving{node=\"receivers\"} 1\n"), std::string::npos);
  EXPECT_NE(text.find("\ntautline_ring_in_use_blocks{from=\"receivers\",to=\"file\"} 1\n"),
            std::string::npos);
  EXPECT_NE(text.find("\ntautline_ring_blocks{from=\"receivers\",to=\"file\"} 5\n"),
            std::string::npos);
  EXPECT_EQ(text.find("null"), std::string::npos);
  EXPECT_EQ(text.find("monitor of"), std::string::npos);
  EXPECT_EQ(text.back(), '\n');
}

}  // namespace
}  // namespace tautline::pipeline::monitor

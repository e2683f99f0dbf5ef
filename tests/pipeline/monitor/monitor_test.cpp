// A run that is watched: what the addresses give, what the taps draw, and that the results are those of a run that is
// not.
#include "tautline/pipeline/monitor/monitor.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "tautline/core/error.h"
#include "tautline/pipeline/monitor/drawing.h"
#include "tautline/pipeline/monitor/tap_node.h"
#include "tautline/pipeline/monitor/taps.h"
#include "tautline/stream/http.h"
#include "tests/pipeline/monitor/live_visibilities.h"
#include "tests/support/http_client.h"

namespace tautline::pipeline::monitor {
namespace {

using Json = nlohmann::json;

class Counting final : public engine::Node {
 public:
  explicit Counting(std::uint64_t& blocks) : blocks_(blocks) {}
  std::vector<engine::Stream> open(std::span<const engine::Stream>) override { return {}; }
  void process(std::size_t, const engine::Block&, engine::Outputs&) override { ++blocks_; }

 private:
  std::uint64_t& blocks_;
};

struct Watched {
  tests::LiveControl control;
  std::uint64_t blocks = 0;
  std::vector<std::shared_ptr<Tapped>> taps;
  std::unique_ptr<engine::Run> run;

  Watched(std::chrono::milliseconds every, std::uint64_t integrations) {
    engine::Graph graph;
    const auto source = graph.add(
        "receivers", std::make_unique<tests::LiveVisibilities>(control, 3, 8, every, integrations));
    graph.connect(source, graph.add("file", std::make_unique<Counting>(blocks)));
    taps = add_taps(graph, {"receivers", "no such node"});
    run =
        std::make_unique<engine::Run>(std::move(graph), engine::RunOptions{.live_counters = true});
  }
};

std::string get(const Monitor& monitor, const std::string& path) {
  return stream::http_get(monitor.url() + path, std::chrono::seconds(20));
}

TEST(Monitor, TellsOfARunWhileItGoesOnAndWhenItHasEnded) {
  Watched watched(std::chrono::milliseconds(20), 0);
  MonitorConfig config;
  config.pipeline = "night.toml";
  config.taps = watched.taps;
  config.every_s = 0.02;
  const Monitor monitor(config, *watched.run);
  EXPECT_EQ(Json::parse(get(monitor, "status.json"))["state"], "starting");
  EXPECT_NE(get(monitor, "").find("tautline.startMonitor"), std::string::npos);
  EXPECT_THROW(get(monitor, "none"), core::Error);
  std::jthread runs([&] { watched.run->go(); });
  Json status;
  do {
    status = Json::parse(get(monitor, "status.json"));
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
  } while (status["progress"]["samples"] < 5);
  EXPECT_EQ(status["schema"], "tautline.status");
  EXPECT_EQ(status["version"], 1);
  EXPECT_EQ(status["state"], "running");
  EXPECT_EQ(status["nodes"].size(), 2u);
  EXPECT_EQ(status["nodes"][0]["node"], "receivers");
  EXPECT_TRUE(status["nodes"][0]["receiving"]);
  EXPECT_GE(status["process"]["descriptors"],
            4u);                                // the usual three, and where the monitor listens
  EXPECT_GE(status["process"]["threads"], 4u);  // this one, the run's, the monitor's, its server's
  EXPECT_NE(get(monitor, "metrics").find("tautline_running 1\n"), std::string::npos);
  watched.control.end = true;
  runs.join();
  do {
    status = Json::parse(get(monitor, "status.json"));
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
  } while (status["state"] != "finished");
  EXPECT_EQ(status["progress"]["samples"], watched.blocks);
  EXPECT_FALSE(status["nodes"][0]["receiving"]);
}

// Draws every block, and follows what is told of it as a browser does.
class Following final : public engine::Node {
 public:
  std::vector<engine::Stream> open(std::span<const engine::Stream> inputs) override {
    drawing = make_drawing(inputs.front());
    return {};
  }
  void process(std::size_t, const engine::Block& block, engine::Outputs&) override {
    drawing->take(block);
    if (++taken % 3 == 0) follow();
  }
  void finish(engine::Outputs&) override { follow(); }
  void follow() {
    for (const std::string& message : drawing->news()) {
      const Json json = Json::parse(message);
      const std::string type = json["type"];
      descriptions += type == "description" ? 1 : 0;
      if (type != "integrations") continue;
      const auto first = json["first"].get<std::size_t>();
      ASSERT_LE(first, rows.size()) << "a hole";
      if (first == 0 && !rows.empty()) ++merges;
      rows.resize(first);
      for (std::size_t k = 0; k < json["count"]; ++k)
        rows.push_back(json["summary"]["integrations"]);
      summary = json["summary"];
    }
  }
  std::unique_ptr<Drawing> drawing;
  std::size_t taken = 0, merges = 0, descriptions = 0;
  std::vector<int> rows;
  Json summary;
};

TEST(Monitor, TellsVisibilitiesRowByRowAndAllRowsAnewAfterAMerge) {
  tests::LiveControl control;
  engine::Graph graph;
  const auto source = graph.add("x", std::make_unique<tests::LiveVisibilities>(
                                         control, 3, 8, std::chrono::milliseconds(1), 300));
  auto node = std::make_unique<Following>();
  Following& following = *node;
  graph.connect(source, graph.add("following", std::move(node)));
  engine::Run run(std::move(graph));
  run.go();
  EXPECT_EQ(following.merges, 2u);        // at 120 and 240 integrations
  EXPECT_EQ(following.descriptions, 1u);  // a browser keeps what its reader has chosen
  EXPECT_TRUE(following.drawing->news().empty());
  const std::vector<std::string> all = following.drawing->all();
  ASSERT_EQ(all.size(), 4u);  // description, status, integrations, matrix of amplitudes
  EXPECT_EQ(Json::parse(all[0])["inputs"].size(), 6u);
  EXPECT_EQ(Json::parse(all[2])["count"], following.rows.size());
  EXPECT_EQ(Json::parse(all[2])["summary"], following.summary);
  EXPECT_EQ(following.summary["integrations"], 300);
  const Json matrix = Json::parse(all[3]);
  EXPECT_EQ(matrix["type"], "figure");
  EXPECT_EQ(matrix["panels"][0]["rows"], 6);
}

// Four nodes that are drawn: a page gets a message of all of them after each look, 2.5 a second.
TEST(Monitor, SendsFewMessagesHoweverManyTapsThereAre) {
  tests::LiveControl control;
  engine::Graph graph;
  const std::vector<std::string> nodes{"a", "b", "c", "d"};
  std::map<std::string, std::uint64_t> blocks;
  for (const std::string& node : nodes)
    graph.connect(graph.add(node, std::make_unique<tests::LiveVisibilities>(
                                      control, 3, 8, std::chrono::milliseconds(10), 0)),
                  graph.add("file of " + node, std::make_unique<Counting>(blocks[node])));
  MonitorConfig config;
  config.taps = add_taps(graph, nodes);
  engine::Run run(std::move(graph), engine::RunOptions{.live_counters = true});
  const Monitor monitor(config, run);
  std::jthread runs([&] { run.go(); });
  const std::string url = monitor.url();
  const auto port = static_cast<std::uint16_t>(std::stoi(url.substr(url.rfind(':') + 1)));
  tests::HttpClient page(port);
  page.say("GET /live HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(port) + "\r\n" +
           tests::kUpgrade + "\r\n");
  std::string heard = page.hear("\r\n\r\n");
  heard.erase(0, heard.find("\r\n\r\n") + 4);
  std::vector<std::string> messages;
  for (std::string more = "-"; messages.size() < 7 && !more.empty(); heard += more) {
    messages = tests::messages_in(heard);
    more = page.hear("}");
  }
  control.end = true;
  ASSERT_GE(messages.size(), 7u);
  std::set<std::string> drawn;
  std::vector<double> times_s;
  for (const std::string& message : messages) {
    const Json json = Json::parse(message);
    EXPECT_EQ(json["status"]["schema"], "tautline.status");
    times_s.push_back(json["status"]["time_unix_s"]);
    for (const Json& drawing : json["drawings"]) drawn.insert(drawing["node"].get<std::string>());
  }
  EXPECT_EQ(drawn, std::set<std::string>(nodes.begin(), nodes.end()));
  // The first one greets, and may come right before the second; times are told in tenths.
  EXPECT_GE(times_s[6] - times_s[1], 5 / 5.0 - 0.11);
}

TEST(Monitor, ATapThatIsTooSlowDropsNoBlockOfOthers) {
  Watched watched(std::chrono::milliseconds(1), 300);
  watched.run->go();
  EXPECT_EQ(watched.blocks, 300u);
  EXPECT_EQ(watched.taps.front()->failure(), "");
  EXPECT_FALSE(watched.taps.front()->all().empty());
}

// A drawing that fails is given up; the run is not.
TEST(Monitor, ADrawingThatFailsEndsNothingElse) {
  Tapped tap("x");
  engine::Stream stream;
  stream.kind = "visibilities";  // without their details
  tap.open(stream);
  EXPECT_NE(tap.failure(), "");
  tap.take({});
  EXPECT_TRUE(tap.all().empty());
  Tapped other("y");
  stream.kind = "spectra";
  other.open(stream);
  other.take({});
  EXPECT_EQ(other.failure(), "");
}

TEST(Monitor, RefusesAddressesThatItMayNotServe) {
  Watched watched(std::chrono::milliseconds(1), 1);
  for (const char* address : {"0.0.0.0:0", "127.0.0.1", "127.0.0.1:", "127.0.0.1:99999", ":80",
                              "127.0.0.1:80x", "example.org:0"}) {
    MonitorConfig config;
    config.address = address;
    EXPECT_THROW(Monitor(config, *watched.run), core::Error) << address;
  }
}

}  // namespace
}  // namespace tautline::pipeline::monitor

// Triggers that are sent are those that a buffer's listener reads.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "tautline/core/error.h"
#include "tautline/engine/run.h"
#include "tautline/pipeline/trigger.h"
#include "tautline/pipeline/voltages/trigger_listener.h"
#include "tautline/pipeline/voltages/trigger_sender_node.h"

namespace tautline::pipeline {
namespace {

using namespace std::chrono_literals;

// In blocks of one and two by turns.
class TriggerSource final : public engine::Node {
 public:
  explicit TriggerSource(Triggers all) : all_(std::move(all)) {}
  std::vector<engine::Stream> open(std::span<const engine::Stream>) override {
    engine::Stream like;
    like.rate_hz = {1000, 1};
    like.max_samples = 10;
    return {trigger_stream(like)};
  }
  bool produce(engine::Outputs& outputs) override {
    const std::size_t count = std::min(all_.size() - given_, std::size_t{1} + given_ % 2);
    engine::Block& block = outputs.begin();
    block.samples = 10;
    block.first = blocks_++ * 10;
    const auto from = all_.begin() + static_cast<std::ptrdiff_t>(given_);
    block.payload_of<Triggers>() = Triggers(from, from + static_cast<std::ptrdiff_t>(count));
    outputs.commit();
    given_ += count;
    return given_ < all_.size();
  }

 private:
  Triggers all_;
  std::size_t given_ = 0, blocks_ = 0;
};

Triggers some_triggers() {
  return {{.kind = "candidate",
           .id = "candidate-1",
           .time = core::parse_utc("2026-03-20T14:00:01.250001"),
           .dm = 56.7,
           .reference_hz = 1.4e9 / 3,
           .facts = {{"snr", 12.5}}},
          {.kind = "datagram", .id = "by-sample", .sample = 12'345'678'901},
          {.kind = "candidate",
           .id = "late",
           .time = core::parse_utc("1999-12-31T23:59:59.999999"),
           .before_s = 0,
           .after_s = 1e-7},
          {.kind = "candidate",
           .id = "a",
           .time = core::parse_utc("2026-03-20T14:00:02"),
           .before_s = 86'400,
           .after_s = 0.1}};
}

TEST(TriggerSender, SendsWhatTheListenerReads) {
  constexpr double kMostPerS = 1000;
  // Listens where the system chooses, and says where.
  std::string said;
  TriggerListener listener({.listen = "udp://127.0.0.1:0",
                            .most_per_s = kMostPerS,
                            .log = [&](core::LogLevel, const std::string& text) { said = text; }});
  const std::string to = said.substr(said.find("udp://"));
  const Triggers sent = some_triggers();
  engine::Graph graph;
  const engine::NodeId source = graph.add("source", std::make_unique<TriggerSource>(sent)),
                       sender = graph.add("sender", std::make_unique<TriggerSenderNode>(
                                                        TriggerSenderConfig{.to = to}));
  graph.connect(source, sender);
  engine::Run run(std::move(graph));
  run.go();
  EXPECT_EQ(run.counters().at("sender.triggers"), sent.size());
  Triggers read;
  for (int wait = 0; wait < 1000 && read.size() < sent.size(); ++wait) {
    listener.poll([&](Trigger trigger) { read.push_back(std::move(trigger)); });
    std::this_thread::sleep_for(10ms);
  }
  EXPECT_EQ(listener.malformed(), 0U);
  ASSERT_EQ(read.size(), sent.size());
  for (std::size_t k = 0; k < sent.size(); ++k) {
    EXPECT_EQ(read[k].kind, "datagram");
    EXPECT_EQ(read[k].id, sent[k].id);
    EXPECT_EQ(read[k].time, sent[k].time);
    EXPECT_EQ(read[k].sample, sent[k].sample);
    EXPECT_EQ(read[k].before_s, sent[k].before_s);
    EXPECT_EQ(read[k].after_s, sent[k].after_s);
    EXPECT_EQ(read[k].dm, sent[k].dm);
    EXPECT_EQ(read[k].reference_hz, sent[k].reference_hz);
  }
}

TEST(TriggerSender, RefusesWhatItCannotSend) {
  for (const char* to : {"", "tcp://127.0.0.1:9050", "127.0.0.1:9050"})
    EXPECT_THROW(TriggerSenderNode({.to = to}), core::Error) << to;
  TriggerSenderNode node({.to = "udp://127.0.0.1:9050"});
  std::vector<engine::Stream> pulses(1);
  pulses.front().kind = "pulses";
  EXPECT_THROW(node.open(pulses), core::Error);
}

}  // namespace
}  // namespace tautline::pipeline

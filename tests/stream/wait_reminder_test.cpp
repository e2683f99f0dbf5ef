// A stream to which nothing comes says so, more and more rarely, until something comes.
#include "tautline/stream/wait_reminder.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <random>
#include <string>
#include <vector>

#include "tautline/stream/packet_voltages.h"
#include "tests/support/seed.h"

namespace tautline::stream {
namespace {

TEST(WaitReminder, IsDueEachTimeThatTheWaitHasDoubled) {
  auto random = tests::generator();
  const double first_s = std::uniform_real_distribution<double>(0.1, 10)(random);
  WaitReminder reminder(first_s);
  std::uniform_real_distribution<double> step(0.01, 0.3);
  double due_s = first_s;
  int times = 0;
  for (double waited_s = 0; times < 8; waited_s += step(random) * first_s) {
    const bool due = waited_s >= due_s;
    EXPECT_EQ(reminder.is_due(waited_s), due) << waited_s;
    if (!due) continue;
    due_s = 2 * waited_s;
    ++times;
  }
}

TEST(WaitReminder, OfPacketsEndsWithTheFirst) {
  std::vector<std::string> said;
  std::string address;
  PacketVoltagesConfig config;
  config.network.listen = {parse_endpoint("listen", "udp://127.0.0.1:0")};
  config.capture.layout = formats::packets::read_layout("counts");
  config.capture.layout.rate_hz = {10'000, 1};
  config.capture.shape.samples = config.capture.layout.samples();
  config.capture.shape.channels = 4;
  config.remind_s = 1e-3;
  config.log = [&](core::LogLevel level, const std::string& text) {
    const std::string listening = "listening at ";
    if (text.starts_with(listening))
      address = text.substr(listening.size(), text.find(" for ") - listening.size());
    if (!text.starts_with("no packet has come")) return;
    EXPECT_EQ(level, core::LogLevel::info);
    said.push_back(text);
  };
  PacketVoltages packets(config);
  while (said.size() < 3) ASSERT_TRUE(packets.receive());
  for (const std::string& text : said) {
    EXPECT_TRUE(text.starts_with("no packet has come to " + address + " in ")) << text;
    EXPECT_TRUE(text.ends_with(" s: waiting")) << text;
  }
  UdpSender sender(parse_endpoint("to", address));
  const std::array<std::byte, 1> rubbish{};
  while (packets.counters().at("packets") == 0) {
    sender.send(rubbish);
    sender.flush();
    ASSERT_TRUE(packets.receive());
  }
  said.clear();
  const auto waits = std::chrono::steady_clock::now();
  const auto since_s = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - waits).count();
  };
  while (since_s() < 1) ASSERT_TRUE(packets.receive());
  EXPECT_TRUE(said.empty()) << said.front();
}

}  // namespace
}  // namespace tautline::stream

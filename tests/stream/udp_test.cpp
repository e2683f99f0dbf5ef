#include "tautline/stream/udp.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

#include "tautline/core/error.h"
#include "tests/support/seed.h"

namespace tautline::stream {
namespace {

using namespace std::chrono_literals;
const Endpoint kAnyUdpPort{Endpoint::Transport::udp, "127.0.0.1", 0};

std::vector<std::byte> random_packet(std::size_t bytes, std::mt19937_64& random) {
  std::vector<std::byte> packet(bytes);
  for (std::byte& byte : packet) byte = static_cast<std::byte>(random());
  return packet;
}

// As many as fit into any kernel's buffer: what is received is what was sent.
TEST(UdpPackets, ComeAsTheyWereSent) {
  auto random = tests::generator();
  UdpReceiver receiver({.listen = {kAnyUdpPort}});
  UdpSender sender(receiver.listening().front());
  std::vector<std::vector<std::byte>> sent, come;
  std::uint64_t bytes = 0;
  for (int round = 0; round < 50; ++round) {
    for (std::size_t k = random() % 100; k > 0; --k) {
      sent.push_back(random_packet(random() % 1500, random));
      bytes += sent.back().size();
      sender.send(sent.back());
    }
    sender.flush();
    for (int tries = 0; tries < 1000 && come.size() < sent.size(); ++tries)
      receiver.receive(20ms, [&](std::span<const std::byte> packet, std::size_t) {
        come.emplace_back(packet.begin(), packet.end());
      });
  }
  EXPECT_TRUE(come == sent);
  EXPECT_EQ(receiver.counters().packets, sent.size());
  EXPECT_EQ(receiver.counters().bytes, bytes);
  EXPECT_EQ(receiver.counters().kernel_drops, 0U);
}

// Those that find the kernel's buffer full are counted, too, by the next one that comes.
TEST(UdpPackets, ThatTheKernelDropsAreCounted) {
  auto random = tests::generator();
  UdpReceiver receiver({.listen = {kAnyUdpPort}, .buffer_bytes = 65'536});
  UdpSender sender(receiver.listening().front());
  const auto packet = random_packet(4000, random);
  const std::size_t sent = 1000;
  for (std::size_t k = 0; k < sent; ++k) sender.send(packet);
  sender.flush();
  const auto count = [](std::span<const std::byte>, std::size_t) {};
  while (receiver.receive(20ms, count) > 0) {
  }
  EXPECT_LT(receiver.counters().packets, sent);
  sender.send(packet);
  sender.flush();
  while (receiver.receive(20ms, count) > 0) {
  }
  EXPECT_EQ(receiver.counters().packets + receiver.counters().kernel_drops, sent + 1);
}

TEST(UdpPackets, ThatAreTooLongAreCut) {
  auto random = tests::generator();
  UdpReceiver receiver({.listen = {kAnyUdpPort}, .packet_bytes = 100});
  UdpSender sender(receiver.listening().front());
  const auto packet = random_packet(150, random);
  sender.send(packet);
  sender.flush();
  std::vector<std::byte> come;
  EXPECT_EQ(receiver.receive(10s, [&](std::span<const std::byte> p,
                                      std::size_t) { come.assign(p.begin(), p.end()); }),
            1U);
  EXPECT_TRUE(std::ranges::equal(come, std::span(packet).first(100)));
  EXPECT_EQ(receiver.counters().cut, 1U);
}

TEST(UdpPackets, AreNotWaitedForForEver) {
  UdpReceiver receiver({.listen = {kAnyUdpPort}});
  EXPECT_EQ(receiver.receive(1ms, [](std::span<const std::byte>, std::size_t) { FAIL(); }), 0U);
}

TEST(UdpReceivers, SayWhatIsWrong) {
  UdpReceiver receiver({.listen = {kAnyUdpPort}});
  try {
    UdpReceiver other({.listen = receiver.listening()});
    FAIL() << "two listen at one port";
  } catch (const core::Error& error) {
    EXPECT_EQ(error.field(), "listen");
    EXPECT_NE(std::string(error.what()).find("in use"), std::string::npos);
  }
  std::string said;
  UdpReceiver greedy({.listen = {kAnyUdpPort},
                      .buffer_bytes = std::size_t{1} << 29,
                      .log = [&](core::LogLevel, const std::string& text) { said += text; }});
  if (greedy.buffer_bytes() < std::size_t{1} << 29)
    EXPECT_NE(said.find("sysctl -w net.core.rmem_max=536870912"), std::string::npos) << said;
  else
    EXPECT_TRUE(said.empty());
}

// Several addresses, one of them a multicast group's: each packet has the number of its address.
TEST(UdpPackets, ComeWithTheNumberOfTheirAddress) {
  auto random = tests::generator();
  UdpReceiver receiver(
      {.listen = {kAnyUdpPort, kAnyUdpPort, {Endpoint::Transport::udp, "239.255.18.77", 0}},
       .interface = "127.0.0.1"});
  const auto listening = receiver.listening();
  ASSERT_EQ(listening.size(), 3U);
  std::vector<std::vector<std::byte>> sent(3), come(3);
  std::size_t count = 0;
  for (std::size_t round = 0; round < 20; ++round)
    for (std::size_t address = 0; address < 3; ++address) {
      UdpSender sender(listening[address], "127.0.0.1");
      sent[address] = random_packet(1 + random() % 1500, random);
      sender.send(sent[address]);
      sender.flush();
      for (int tries = 0; tries < 1000 && count <= round * 3 + address; ++tries)
        count += receiver.receive(20ms, [&](std::span<const std::byte> packet, std::size_t from) {
          come.at(from).assign(packet.begin(), packet.end());
        });
      EXPECT_TRUE(come == sent);
    }
  EXPECT_EQ(count, 60U);
}

// Nobody listens: the packets are gone, and that is all.
TEST(UdpSenders, DoNotMindThatNobodyListens) {
  Endpoint nobody;
  {
    UdpReceiver receiver({.listen = {kAnyUdpPort}});
    nobody = receiver.listening().front();
  }
  auto random = tests::generator();
  UdpSender sender(nobody);
  for (int k = 0; k < 500; ++k) sender.send(random_packet(100, random));
  EXPECT_NO_THROW(sender.flush());
  sender.send(random_packet(70'000, random));
  EXPECT_THROW(sender.flush(), core::Error) << "too long";
}

}  // namespace
}  // namespace tautline::stream

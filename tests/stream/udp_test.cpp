#include "tautline/stream/udp.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

#include "tautline/core/error.h"
#include "tests/support/error_of.h"
#include "tests/support/seed.h"

namespace tautline::stream {
namespace {

using namespace std::chrono_literals;
using Packets = std::span<const UdpReceiver::Packet>;
const Endpoint kAnyUdpPort{Endpoint::Transport::udp, "127.0.0.1", 0};
constexpr std::size_t kMostUdpBytes = 65'507;  // of a datagram over IPv4

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
      receiver.receive(20ms, [&](Packets packets, std::size_t) {
        for (const auto& packet : packets) come.emplace_back(packet.begin(), packet.end());
      });
  }
  EXPECT_TRUE(come == sent);
  EXPECT_EQ(receiver.counters().packets, sent.size());
  EXPECT_EQ(receiver.counters().bytes, bytes);
  EXPECT_EQ(receiver.counters().kernel_drops, 0U);
}

// Those that find the kernel's buffer full are counted, too, by the next one that comes: exactly where all that is sent
// at once is joined alike, and where nothing is.
TEST(UdpPackets, ThatTheKernelDropsAreCounted) {
  auto random = tests::generator();
  for (const std::size_t bytes : {std::size_t{4000}, kMostUdpBytes}) {
    UdpReceiver receiver({.listen = {kAnyUdpPort},
                          .packet_bytes = kMostUdpBytes,
                          .buffer_bytes = 4 * kMostUdpBytes});
    UdpSender sender(receiver.listening().front());
    const auto packet = random_packet(bytes, random);
    const std::size_t sent = 1024;  // whole messages of 16 packets of 4000 bytes
    for (std::size_t k = 0; k < sent; ++k) sender.send(packet);
    sender.flush();
    const auto count = [](Packets, std::size_t) {};
    while (receiver.receive(20ms, count) > 0) {
    }
    EXPECT_LT(receiver.counters().packets, sent);
    sender.send(packet);
    sender.flush();
    const auto all = [&] { return receiver.counters().packets + receiver.counters().kernel_drops; };
    for (int tries = 0; tries < 1000 && all() <= sent; ++tries) receiver.receive(20ms, count);
    EXPECT_EQ(receiver.counters().packets + receiver.counters().kernel_drops, sent + 1) << bytes;
  }
}

TEST(UdpPackets, ThatAreTooLongAreCut) {
  auto random = tests::generator();
  UdpReceiver receiver({.listen = {kAnyUdpPort}, .packet_bytes = 100});
  UdpSender sender(receiver.listening().front());
  const auto packet = random_packet(150, random);
  sender.send(packet);
  sender.flush();
  std::vector<std::byte> come;
  EXPECT_EQ(receiver.receive(10s,
                             [&](Packets packets, std::size_t) {
                               come.assign(packets[0].begin(), packets[0].end());
                             }),
            1U);
  EXPECT_TRUE(std::ranges::equal(come, std::span(packet).first(100)));
  EXPECT_EQ(receiver.counters().cut, 1U);
}

// As network cards and systems join those of one sender: they come as they were sent, and are cut alike.
TEST(UdpPackets, ThatComeJoinedAreTakenApart) {
  auto random = tests::generator();
  UdpReceiver receiver({.listen = {kAnyUdpPort}, .packet_bytes = 900});
  const int out = ::socket(AF_INET, SOCK_DGRAM, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(receiver.listening().front().port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  std::vector<std::byte> sent, come;
  std::uint64_t packets = 0, cut = 0;
  for (int round = 0; round < 30; ++round) {
    const int each = 100 + static_cast<int>(random() % 900);
    // The system takes 64 packets at once.
    const auto all = random_packet(
        1 + random() % std::min<std::size_t>(20'000, 60 * static_cast<std::size_t>(each)), random);
    if (::setsockopt(out, SOL_UDP, UDP_SEGMENT, &each, sizeof each) != 0) {
      ::close(out);
      GTEST_SKIP() << "this system joins no packets";
    }
    ASSERT_EQ(::sendto(out, all.data(), all.size(), 0, reinterpret_cast<sockaddr*>(&to), sizeof to),
              static_cast<ssize_t>(all.size()));
    for (std::size_t at = 0; at < all.size(); at += static_cast<std::size_t>(each), ++packets) {
      const auto one = std::span(all).subspan(at).first(
          std::min(static_cast<std::size_t>(each), all.size() - at));
      const auto kept = one.first(std::min<std::size_t>(one.size(), 900));
      cut += one.size() > 900 ? 1 : 0;
      sent.insert(sent.end(), kept.begin(), kept.end());
    }
    for (int tries = 0; tries < 1000 && receiver.counters().packets < packets; ++tries)
      receiver.receive(20ms, [&](Packets some, std::size_t) {
        for (const auto& packet : some) come.insert(come.end(), packet.begin(), packet.end());
      });
  }
  ::close(out);
  EXPECT_TRUE(come == sent);
  EXPECT_EQ(receiver.counters().packets, packets);
  EXPECT_EQ(receiver.counters().bytes, sent.size());
  EXPECT_EQ(receiver.counters().cut, cut);
}

// Senders join them by themselves, and a receiver that takes none joined gets them one by one.
TEST(UdpPackets, ThatSendersJoinComeOneByOneToOthers) {
  auto random = tests::generator();
  const int in = ::socket(AF_INET, SOCK_DGRAM, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t bytes = sizeof at;
  ASSERT_EQ(::bind(in, reinterpret_cast<sockaddr*>(&at), bytes), 0);
  ASSERT_EQ(::getsockname(in, reinterpret_cast<sockaddr*>(&at), &bytes), 0);
  const timeval patience{20, 0};  // of a busy system, which delivers a moment later
  ASSERT_EQ(::setsockopt(in, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience), 0);
  // One long run in a round, which fits into twice the least of what systems allow.
  const int room = 200'000;
  ASSERT_EQ(::setsockopt(in, SOL_SOCKET, SO_RCVBUF, &room, sizeof room), 0);
  UdpSender sender({Endpoint::Transport::udp, "127.0.0.1", ntohs(at.sin_port)});
  std::vector<std::byte> come(kMostUdpBytes);
  for (int round = 0; round < 30; ++round) {
    std::vector<std::vector<std::byte>> sent;
    // Runs of one length, shorter ones behind them, empty ones and long ones.
    for (std::size_t runs = random() % 4, run = 0; run <= runs; ++run) {
      const std::size_t each = run == 0 && random() % 2 == 0 ? random() % 20'000 : random() % 200;
      for (std::size_t k = random() % 6; k > 0; --k) sent.push_back(random_packet(each, random));
      if (each > 0 && random() % 2 == 0) sent.push_back(random_packet(random() % each, random));
    }
    for (const auto& packet : sent) sender.send(packet);
    sender.flush();
    for (const auto& packet : sent) {
      const ssize_t got = ::recv(in, come.data(), come.size(), 0);
      ASSERT_EQ(got, static_cast<ssize_t>(packet.size()));
      ASSERT_TRUE(std::equal(packet.begin(), packet.end(), come.begin()));
    }
  }
  ::close(in);
}

TEST(UdpPackets, AreNotWaitedForForEver) {
  UdpReceiver receiver({.listen = {kAnyUdpPort}});
  EXPECT_EQ(receiver.receive(1ms, [](Packets, std::size_t) { FAIL(); }), 0U);
}

TEST(UdpReceivers, SayWhatIsWrong) {
  UdpReceiver receiver({.listen = {kAnyUdpPort}});
  const core::Error error =
      tests::error_of([&] { UdpReceiver other({.listen = receiver.listening()}); });
  EXPECT_EQ(error.field(), "listen");
  EXPECT_NE(std::string(error.what()).find("in use"), std::string::npos);
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
        count += receiver.receive(20ms, [&](Packets packets, std::size_t from) {
          come.at(from).assign(packets.back().begin(), packets.back().end());
        });
      EXPECT_TRUE(come == sent);
    }
  EXPECT_EQ(count, 60U);
}

// One address of three receivers: all that a sender sends comes to one of them, and 30 senders do not all choose the
// same.
TEST(UdpReceivers, ShareAnAddress) {
  auto random = tests::generator();
  auto receivers = UdpReceiver::share({.listen = {kAnyUdpPort}}, 3);
  ASSERT_EQ(receivers.size(), 3U);
  const Endpoint at = receivers.front()->listening().front();
  std::vector<UdpSender> senders;
  for (std::size_t k = 0; k < 30; ++k) senders.emplace_back(at);
  std::vector<std::size_t> sent(senders.size()), chosen(senders.size(), receivers.size());
  std::size_t count = 0, all = 0;
  for (int round = 0; round < 10; ++round) {
    for (std::size_t k = 0; k < senders.size(); ++k) {
      for (std::size_t n = random() % 5; n > 0; --n, ++sent[k], ++all)
        senders[k].send(std::vector<std::byte>(10, static_cast<std::byte>(k)));
      senders[k].flush();
    }
    for (int tries = 0; tries < 1000 && count < all; ++tries)
      for (std::size_t r = 0; r < receivers.size(); ++r)
        count += receivers[r]->receive(1ms, [&](Packets packets, std::size_t address) {
          EXPECT_EQ(address, 0U);
          for (const auto& packet : packets) {
            const auto from = static_cast<std::size_t>(packet[0]);
            if (chosen.at(from) == receivers.size()) chosen[from] = r;
            EXPECT_EQ(chosen[from], r);
          }
        });
  }
  EXPECT_EQ(count, all);
  std::uint64_t counted = 0;
  for (const auto& receiver : receivers) {
    counted += receiver->counters().packets;
    EXPECT_EQ(receiver->listening().front().port, at.port);
  }
  EXPECT_EQ(counted, all);
  EXPECT_GT(std::ranges::count_if(chosen, [&](std::size_t r) { return r != chosen[0]; }), 0);
  EXPECT_THROW(UdpReceiver({.listen = {at}}), core::Error) << "the port is taken";
  EXPECT_THROW(UdpReceiver::share({.listen = {at}}, 2), core::Error) << "the port is taken";
}

// Five addresses of two receivers, each with its number.
TEST(UdpReceivers, DealOutAddresses) {
  auto receivers = UdpReceiver::share({.listen = std::vector<Endpoint>(5, kAnyUdpPort)}, 2);
  ASSERT_EQ(receivers[0]->listening().size(), 3U);
  ASSERT_EQ(receivers[1]->listening().size(), 2U);
  for (std::size_t address = 0; address < 5; ++address) {
    UdpReceiver& receiver = *receivers[address % 2];
    UdpSender sender(receiver.listening()[address / 2]);
    sender.send(std::vector<std::byte>(10));
    sender.flush();
    std::size_t from = 99;
    for (int tries = 0; tries < 1000 && from == 99; ++tries)
      receiver.receive(20ms, [&](Packets, std::size_t number) { from = number; });
    EXPECT_EQ(from, address);
  }
  const Endpoint group{Endpoint::Transport::udp, "239.255.18.77", 0};
  EXPECT_THROW(UdpReceiver::share({.listen = {group}, .interface = "127.0.0.1"}, 2), core::Error);
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

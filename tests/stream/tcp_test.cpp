#include "tautline/stream/tcp.h"

#include <gtest/gtest.h>

#include <mutex>
#include <random>
#include <thread>

#include "tautline/core/error.h"
#include "tests/support/seed.h"

namespace tautline::stream {
namespace {

using namespace std::chrono_literals;

std::vector<std::byte> random_bytes(std::size_t count, std::mt19937_64& random) {
  std::vector<std::byte> all(count);
  for (std::byte& byte : all) byte = static_cast<std::byte>(random());
  return all;
}

class TcpServers : public ::testing::Test {
 protected:
  TcpServerConfig config(std::size_t places, std::size_t buffer_bytes = 5000) {
    return {.listen = {{.host = "127.0.0.1", .port = 0}},
            .places = places,
            .buffer_bytes = buffer_bytes};
  }
  static TcpClient connect(const TcpServer& server) { return {server.listening().front(), 10s}; }
  // Until `done` holds; a test that waits in vain fails.
  template <class Condition>
  static void serve(TcpServer& server, const Condition& done) {
    const auto until = std::chrono::steady_clock::now() + 60s;
    while (!done() && std::chrono::steady_clock::now() < until) server.wait(20ms);
    ASSERT_TRUE(done());
  }
  // Consumes what is there in pieces of any size.
  void take(TcpServer& server, std::size_t place, std::vector<std::byte>& to) {
    const auto there = server.bytes(place);
    const std::size_t count = there.empty() ? 0 : 1 + random() % there.size();
    to.insert(to.end(), there.begin(), there.begin() + static_cast<std::ptrdiff_t>(count));
    server.consume(place, count);
  }

  std::mt19937_64 random = tests::generator();
};

// Much more than the buffers hold: the senders have to wait.
TEST_F(TcpServers, GiveEachSendersBytesInOrder) {
  TcpServer server(config(2));
  std::vector<std::vector<std::byte>> sent{random_bytes(2'000'003, random),
                                           random_bytes(1'500'001, random)};
  TcpClient first = connect(server);
  serve(server, [&] { return server.connected(0); });
  TcpClient second = connect(server);
  serve(server, [&] { return server.connected(1); });
  std::jthread one([&sent, client = std::move(first)]() mutable { client.write(sent[0]); });
  std::jthread other([&sent, client = std::move(second)]() mutable { client.write(sent[1]); });
  std::vector<std::vector<std::byte>> come(2);
  serve(server, [&] {
    for (std::size_t k = 0; k < 2; ++k) {
      EXPECT_LE(server.bytes(k).size(), 5000);
      take(server, k, come[k]);
    }
    return come[0].size() == sent[0].size() && come[1].size() == sent[1].size();
  });
  EXPECT_EQ(come, sent);
  EXPECT_EQ(server.received_bytes(0), sent[0].size());
}

// The bytes of one that has gone are given before the next one has its place.
TEST_F(TcpServers, KeepThePlaceOfOneThatComesBack) {
  TcpServer server(config(2));
  const auto one = random_bytes(100, random), other = random_bytes(200, random),
             again = random_bytes(300, random);
  auto first = std::make_unique<TcpClient>(connect(server));
  serve(server, [&] { return server.connected(0); });
  TcpClient second = connect(server);
  second.write(other);
  first->write(one);
  first.reset();
  serve(server, [&] { return !server.connected(0) && server.bytes(1).size() == 200; });
  TcpClient third = connect(server);
  third.write(again);
  server.wait(50ms);
  EXPECT_EQ(server.connections(0), 1U);
  ASSERT_TRUE(std::ranges::equal(server.bytes(0), one));
  server.consume(0, 100);
  serve(server, [&] { return server.bytes(0).size() == 300; });
  EXPECT_TRUE(std::ranges::equal(server.bytes(0), again));
  EXPECT_TRUE(std::ranges::equal(server.bytes(1), other));
  EXPECT_EQ(server.connections(0), 2U);
  EXPECT_EQ(server.refused(), 0U);
}

TEST_F(TcpServers, RefuseOneTooMany) {
  auto with_log = config(1);
  std::string said;
  with_log.log = [&](core::LogLevel level, const std::string& text) {
    if (level == core::LogLevel::warning) said += text;
  };
  TcpServer server(with_log);
  TcpClient first = connect(server);
  serve(server, [&] { return server.connected(0); });
  TcpClient second = connect(server);
  serve(server, [&] { return server.refused() == 1; });
  EXPECT_NE(said.find("refused"), std::string::npos);
  const auto piece = random_bytes(1000, random);
  EXPECT_THROW(for (int k = 0; k < 100'000; ++k) second.write(piece), core::Error);
}

// Each place has a port of its own; whoever comes first.
TEST_F(TcpServers, HaveAnAddressForEachPlace) {
  auto ports = config(2);
  ports.listen.push_back(ports.listen.front());
  TcpServer server(ports);
  TcpClient second(server.listening()[1], 10s);
  serve(server, [&] { return server.connected(1); });
  EXPECT_FALSE(server.connected(0));
}

TEST_F(TcpServers, SayWhatIsWrong) {
  TcpServer server(config(1));
  auto taken = config(1);
  taken.listen = server.listening();
  try {
    TcpServer other(taken);
    FAIL() << "two listen at one port";
  } catch (const core::Error& error) {
    EXPECT_EQ(error.field(), "listen");
    EXPECT_NE(std::string(error.what()).find("in use"), std::string::npos);
  }
  auto wrong = config(3);
  wrong.listen.push_back(wrong.listen.front());
  EXPECT_THROW(TcpServer{wrong}, core::Error);
}

TEST_F(TcpServers, LeaveAWriterThatIsStopped) {
  TcpServer server(config(1));
  std::stop_source stop;
  TcpClient client(server.listening().front(), 10s, stop.get_token());
  std::jthread later([&] {
    std::this_thread::sleep_for(20ms);
    stop.request_stop();
  });
  const auto piece = random_bytes(1'000'000, random);
  EXPECT_THROW(for (;;) client.write(piece), core::Error);
}

TEST(TcpClients, GiveUpWhereNobodyListens) {
  Endpoint nobody;
  {
    TcpServer server({.listen = {{.host = "127.0.0.1", .port = 0}}, .places = 1});
    nobody = server.listening().front();
  }
  EXPECT_THROW(TcpClient(nobody, 100ms), core::Error);
}

}  // namespace
}  // namespace tautline::stream

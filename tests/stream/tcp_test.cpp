#include "tautline/stream/tcp.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <iostream>
#include <random>
#include <thread>

#include "tautline/core/error.h"
#include "tests/support/error_of.h"
#include "tests/support/seed.h"

namespace tautline::stream {
namespace {

using namespace std::chrono_literals;

std::vector<std::byte> random_bytes(std::size_t count, std::mt19937_64& random) {
  std::vector<std::byte> all(count);
  for (std::byte& byte : all) byte = static_cast<std::byte>(random());
  return all;
}

sockaddr_in address_of(const std::string& host, std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  inet_pton(AF_INET, host.c_str(), &address.sin_addr);
  return address;
}

// A sender of a host of its own: every 127.x.x.x is this machine.
class HostOf {
 public:
  HostOf(const std::string& host, const TcpServer& server) {
    const sockaddr_in from = address_of(host, 0),
                      to = address_of("127.0.0.1", server.listening().front().port);
    EXPECT_EQ(bind(socket_, reinterpret_cast<const sockaddr*>(&from), sizeof from), 0);
    EXPECT_EQ(connect(socket_, reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
  }
  ~HostOf() { close(socket_); }
  HostOf(const HostOf&) = delete;
  HostOf& operator=(const HostOf&) = delete;
  void write(const std::vector<std::byte>& bytes) const {
    EXPECT_EQ(send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }

 private:
  int socket_ = socket(AF_INET, SOCK_STREAM, 0);
};

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

// The end of the old connection lies behind bytes that nobody has read yet, and another place is free.
TEST_F(TcpServers, GiveAHostItsPlaceBeforeTheEndOfItsOldConnectionIsRead) {
  TcpServer server(config(3));
  const auto one = random_bytes(20'000, random), other = random_bytes(200, random),
             again = random_bytes(300, random);
  auto first = std::make_unique<HostOf>("127.0.0.2", server);
  serve(server, [&] { return server.connected(0); });
  const HostOf second("127.0.0.3", server);
  second.write(other);
  serve(server, [&] { return server.bytes(1).size() == 200; });
  first->write(one);
  first.reset();
  const HostOf back("127.0.0.2", server);
  back.write(again);
  for (int k = 0; k < 5; ++k) server.wait(20ms);
  EXPECT_EQ(server.connections(0), 1U);
  std::vector<std::byte> come;
  serve(server, [&] {
    take(server, 0, come);
    return server.connections(0) == 2 && come.size() == one.size() + again.size();
  });
  std::vector<std::byte> both = one;
  both.insert(both.end(), again.begin(), again.end());
  EXPECT_EQ(come, both);
  EXPECT_EQ(server.connections(2), 0U);
  EXPECT_EQ(server.refused(), 0U);
}

// A machine that starts again has said nothing of its old connection.
TEST_F(TcpServers, GiveAHostItsPlaceAfterItsOldConnectionFellSilent) {
  auto soon = config(3);
  soon.doubt = 0ms;
  TcpServer server(soon);
  const auto one = random_bytes(100, random), other = random_bytes(200, random),
             again = random_bytes(300, random);
  const HostOf dead("127.0.0.2", server);
  dead.write(one);
  serve(server, [&] { return server.bytes(0).size() == 100; });
  const HostOf second("127.0.0.3", server);
  second.write(other);
  serve(server, [&] { return server.bytes(1).size() == 200; });
  const HostOf back("127.0.0.2", server);
  back.write(again);
  serve(server, [&] { return !server.connected(0); });
  EXPECT_TRUE(std::ranges::equal(server.bytes(0), one));
  EXPECT_EQ(server.connections(0), 1U);
  server.consume(0, 100);
  serve(server, [&] { return server.bytes(0).size() == 300; });
  EXPECT_TRUE(std::ranges::equal(server.bytes(0), again));
  EXPECT_TRUE(server.connected(1));
  EXPECT_EQ(server.connections(2), 0U);
}

// Where all are of one host it is known only when no place is free.
TEST_F(TcpServers, GiveTheSilentPlaceWhenNoneIsFree) {
  auto soon = config(2);
  soon.doubt = 0ms;
  TcpServer server(soon);
  const HostOf silent("127.0.0.1", server);
  serve(server, [&] { return server.connected(0); });
  silent.write(random_bytes(100, random));
  serve(server, [&] { return server.bytes(0).size() == 100; });
  server.consume(0, 100);
  const HostOf second("127.0.0.1", server);
  serve(server, [&] { return server.connected(1); });
  const HostOf third("127.0.0.1", server);  // second has never sent: it waits for something
  serve(server, [&] { return server.connections(0) == 2; });
  EXPECT_EQ(server.connections(1), 1U);
  EXPECT_EQ(server.refused(), 0U);
}

// In a network of its own, whose only interface is taken down: what a pulled cable is to a connection. 0: noticed.
int lose_the_network() {
  if (unshare(CLONE_NEWNET) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) return 77;
  const int control = socket(AF_INET, SOCK_DGRAM, 0);
  ifreq loopback{};
  loopback.ifr_name[0] = 'l', loopback.ifr_name[1] = 'o';
  loopback.ifr_flags = IFF_UP;
  if (ioctl(control, SIOCSIFFLAGS, &loopback) != 0) return 77;
  TcpServer server({.listen = {{.host = "127.0.0.1", .port = 0}},
                    .places = 1,
                    .buffer_bytes = 5000,
                    .silence = std::chrono::seconds(2)});
  TcpClient client(server.listening().front(), 10s);
  client.write(std::vector<std::byte>(100));
  for (int k = 0; k < 1000 && server.bytes(0).size() < 100; ++k) server.wait(20ms);
  loopback.ifr_flags = 0;
  if (!server.connected(0) || ioctl(control, SIOCSIFFLAGS, &loopback) != 0) return 1;
  const auto until = std::chrono::steady_clock::now() + 60s;
  while (server.connected(0) && std::chrono::steady_clock::now() < until) server.wait(50ms);
  return server.connected(0) ? 2 : 0;
}

TEST_F(TcpServers, NoticeASenderWhoseCableIsPulled) {
  const pid_t child = fork();
  if (child == 0) {
    int result = 3;
    try {
      result = lose_the_network();
    } catch (const std::exception& error) {
      std::cerr << error.what() << '\n';
    }
    _exit(result);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "no network of one's own is allowed here";
  EXPECT_EQ(WEXITSTATUS(status), 0);
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
  const core::Error error = tests::error_of([&] { TcpServer other(taken); });
  EXPECT_EQ(error.field(), "listen");
  EXPECT_NE(std::string(error.what()).find("in use"), std::string::npos);
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

// The port is taken, so that no other program's server gets it meanwhile.
TEST(TcpClients, GiveUpWhereNobodyListens) {
  const int taken = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in at = address_of("127.0.0.1", 0);
  socklen_t size = sizeof at;
  ASSERT_EQ(bind(taken, reinterpret_cast<const sockaddr*>(&at), size), 0);
  ASSERT_EQ(getsockname(taken, reinterpret_cast<sockaddr*>(&at), &size), 0);
  const Endpoint nobody{.host = "127.0.0.1", .port = ntohs(at.sin_port)};
  EXPECT_THROW(TcpClient(nobody, 100ms), core::Error);
  close(taken);
}

// A host that answers nothing: its queue of connections is full.
TEST(TcpClients, GiveUpWhereNobodyAnswers) {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in at = address_of("127.0.0.1", 0);
  socklen_t size = sizeof at;
  ASSERT_EQ(bind(listener, reinterpret_cast<const sockaddr*>(&at), size), 0);
  ASSERT_EQ(listen(listener, 0), 0);
  ASSERT_EQ(getsockname(listener, reinterpret_cast<sockaddr*>(&at), &size), 0);
  std::vector<int> queue;
  for (int k = 0; k < 4; ++k) {
    queue.push_back(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0));
    (void)connect(queue.back(), reinterpret_cast<const sockaddr*>(&at), size);
  }
  const Endpoint to{.host = "127.0.0.1", .port = ntohs(at.sin_port)};
  const core::Error error = tests::error_of([&] { const TcpClient client(to, 300ms); });
  EXPECT_NE(std::string(error.what()).find("timed out"), std::string::npos) << error.what();
  std::stop_source stop;
  stop.request_stop();
  EXPECT_THROW(TcpClient(to, std::chrono::hours(1), stop.get_token()), core::Error);
  for (const int one : queue) close(one);
  close(listener);
}

}  // namespace
}  // namespace tautline::stream

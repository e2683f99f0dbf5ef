// The server that the monitor stands on: what it answers, and whom it refuses.
#include "tautline/stream/http.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <random>
#include <thread>

#include "tautline/core/error.h"
#include "tests/support/seed.h"

namespace tautline::stream {
namespace {

SharedText shared(std::string text) {
  return std::make_shared<const std::string>(std::move(text));
}

HttpServerConfig hello() {
  HttpServerConfig config;
  config.answer = [](const std::string& path) {
    if (path == "/") return HttpAnswer{200, "text/html; charset=utf-8", shared("<p>hello")};
    if (path == "/large")
      return HttpAnswer{200, "text/plain", shared(std::string(std::size_t{64} << 20, 'x'))};
    return HttpAnswer{404, {}, {}};
  };
  return config;
}

// A client that can do what a browser would not.
class Client {
 public:
  explicit Client(const HttpServer& server, int receive_bytes = 0)
      : socket_(socket(AF_INET, SOCK_STREAM, 0)) {
    const timeval patience{20, 0};
    setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    if (receive_bytes > 0)
      setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &receive_bytes, sizeof receive_bytes);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(server.port());
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = connect(socket_, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0;
  }
  ~Client() { close(socket_); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  /// Whether all of it went.
  bool say(std::string_view text) {
    while (!text.empty()) {
      const ssize_t sent = send(socket_, text.data(), text.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      text.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }
  /// The received bytes, until the server closes or the text is in them.
  std::string hear(std::string_view until = {}) {
    std::string heard;
    char some[65536];
    while (until.empty() || heard.find(until) == std::string::npos) {
      const ssize_t bytes = recv(socket_, some, sizeof some, 0);
      if (bytes <= 0) break;
      heard.append(some, static_cast<std::size_t>(bytes));
    }
    return heard;
  }
  bool connected() const { return connected_; }

 private:
  int socket_;
  bool connected_ = false;
};

std::string request_of(const HttpServer& server, const std::string& method,
                       const std::string& target, const std::string& more = {}) {
  return method + " " + target + " HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(server.port()) +
         "\r\n" + more + "\r\n";
}

std::string status_of(const HttpServer& server, const std::string& request) {
  Client client(server);
  client.say(request);
  return client.hear("\r\n\r\n").substr(0, 12);
}

constexpr const char* kUpgrade =
    "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: "
    "dGhlIHNhbXBsZSBub25jZQ==\r\n";

template <class Condition>
bool comes_true(Condition condition) {
  for (int k = 0; k < 2000; ++k) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return false;
}

TEST(Http, AnswersAndForbidsWhatAPageDoesNotNeed) {
  const HttpServer server(hello());
  Client client(server);
  client.say(request_of(server, "GET", "/?x=1"));
  const std::string answer = client.hear("hello");
  EXPECT_EQ(answer.substr(0, 15), "HTTP/1.1 200 OK");
  EXPECT_NE(answer.find("Content-Security-Policy: default-src 'none'"), std::string::npos);
  EXPECT_NE(answer.find("frame-ancestors 'none'"), std::string::npos);
  EXPECT_NE(answer.find("X-Content-Type-Options: nosniff"), std::string::npos);
  EXPECT_NE(answer.find("\r\nContent-Length: 8\r\n"), std::string::npos);
  EXPECT_EQ(answer.find("Access-Control-Allow-Origin"), std::string::npos);
  // The same connection again, and the head alone.
  client.say(request_of(server, "HEAD", "/", "Connection: close\r\n"));
  const std::string head = client.hear();
  EXPECT_NE(head.find("\r\nContent-Length: 8\r\n"), std::string::npos);
  EXPECT_EQ(head.find("hello"), std::string::npos);
  EXPECT_EQ(server.counts().requests, 2u);
  EXPECT_EQ(http_get(server.url(), std::chrono::seconds(10)), "<p>hello");
  EXPECT_EQ(server.url(), "http://127.0.0.1:" + std::to_string(server.port()) + "/");
}

TEST(Http, RefusesWhatItDoesNotServe) {
  const HttpServer server(hello());
  const auto host = "Host: 127.0.0.1:" + std::to_string(server.port()) + "\r\n";
  const auto status = [&](const std::string& method, const std::string& target,
                          const std::string& more = {}) {
    return status_of(server, request_of(server, method, target, more));
  };
  for (const char* target :
       {"/none", "/../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "//", "/live", "/./", "/\\..\\"})
    EXPECT_EQ(status("GET", target), "HTTP/1.1 404") << target;
  for (const char* method : {"PUT", "DELETE", "OPTIONS", "TRACE", "CONNECT"})
    EXPECT_EQ(status(method, "/"), "HTTP/1.1 405") << method;
  EXPECT_EQ(status("POST", "/"), "HTTP/1.1 405");
  EXPECT_EQ(status("POST", "/", "Content-Length: 5\r\n"), "HTTP/1.1 413");
  EXPECT_EQ(status("POST", "/", "Transfer-Encoding: chunked\r\n"), "HTTP/1.1 405");
  EXPECT_EQ(status("GET", "/none", kUpgrade), "HTTP/1.1 404");
  EXPECT_EQ(status_of(server, "GET / HTTP/9.9\r\n" + host + "\r\n"), "HTTP/1.1 400");
  EXPECT_EQ(status_of(server, "\x16\x03\x01\x02\x01\x01\r\n\r\n"), "HTTP/1.1 400");
  EXPECT_THROW(http_get(server.url() + "none", std::chrono::seconds(10)), core::Error);
  EXPECT_THROW(http_get("ftp://127.0.0.1:1/", std::chrono::seconds(10)), core::Error);
}

// A name of an attacker's that points at 127.0.0.1, and scripts of other pages.
TEST(Http, AnswersItsOwnNamesAlone) {
  const HttpServer server(hello());
  const std::string port = std::to_string(server.port());
  const auto with_host = [&](const std::string& host) {
    return status_of(server, "GET / HTTP/1.1\r\nHost: " + host + "\r\n\r\n");
  };
  for (const char* name : {"127.0.0.1:", "localhost:", "[::1]:"})
    EXPECT_EQ(with_host(name + port), "HTTP/1.1 200") << name;
  for (const std::string& host :
       {"evil.example:" + port, std::string("127.0.0.1"), std::string("127.0.0.1:1"),
        "127.0.0.1:" + port + ".evil.example", "localhost.evil.example:" + port, std::string()})
    EXPECT_EQ(with_host(host), "HTTP/1.1 421") << host;
  EXPECT_EQ(status_of(server, "GET / HTTP/1.0\r\n\r\n"), "HTTP/1.1 421");
  const auto with_origin = [&](const std::string& origin, const std::string& more) {
    return status_of(server,
                     request_of(server, "GET", "/live", "Origin: " + origin + "\r\n" + more));
  };
  EXPECT_EQ(with_origin("http://127.0.0.1:" + port, kUpgrade), "HTTP/1.1 101");
  EXPECT_EQ(with_origin("http://evil.example", kUpgrade), "HTTP/1.1 403");
  EXPECT_EQ(with_origin("http://localhost:" + port, kUpgrade), "HTTP/1.1 403");
  EXPECT_EQ(with_origin("null", kUpgrade), "HTTP/1.1 403");
  EXPECT_EQ(with_origin("http://evil.example", ""), "HTTP/1.1 403");
}

TEST(Http, OtherAddressesNeedAToken) {
  HttpServerConfig config = hello();
  config.address = "0.0.0.0";
  EXPECT_THROW(HttpServer{config}, core::Error);
  config.token = "short";
  EXPECT_THROW(HttpServer{config}, core::Error);
  config.token = "0123456789abcde/";
  EXPECT_THROW(HttpServer{config}, core::Error);
  config.token = "0123456789abcdef";
  config.address = "no-number";
  EXPECT_THROW(HttpServer{config}, core::Error);
  config.address = "127.0.0.1";
  const HttpServer server(config);
  const auto status = [&](const std::string& target, const std::string& more = {}) {
    return status_of(server, request_of(server, "GET", target, more));
  };
  EXPECT_EQ(status("/"), "HTTP/1.1 401");
  EXPECT_EQ(status("/?token=0123456789abcdeg"), "HTTP/1.1 401");
  EXPECT_EQ(status("/?token=0123456789abcdef0"), "HTTP/1.1 401");
  EXPECT_EQ(status("/live", kUpgrade), "HTTP/1.1 401");
  EXPECT_EQ(status("/?token=0123456789abcdef"), "HTTP/1.1 200");
  EXPECT_EQ(status("/?a=b&token=0123456789abcdef&c"), "HTTP/1.1 200");
  EXPECT_EQ(status("/", "Authorization: Bearer 0123456789abcdef\r\n"), "HTTP/1.1 200");
  EXPECT_EQ(http_get(server.url(), std::chrono::seconds(10)), "<p>hello");
  config.port = server.port();
  EXPECT_THROW(HttpServer{config}, core::Error);  // taken
}

TEST(Http, HeadersOfAMegabyteAreRefused) {
  const HttpServer server(hello());
  Client client(server);
  client.say(
      request_of(server, "GET", "/", "X-Long: " + std::string(std::size_t{1} << 20, 'a') + "\r\n"));
  EXPECT_EQ(client.hear().substr(0, 12), "HTTP/1.1 431");
  Client many(server);
  std::string lines;
  while (lines.size() < std::size_t{1} << 20) lines += "X-Short: 1\r\n";
  many.say(request_of(server, "GET", "/", lines));
  EXPECT_EQ(many.hear().substr(0, 12), "HTTP/1.1 431");
  EXPECT_EQ(status_of(server, request_of(server, "GET", "/")), "HTTP/1.1 200");
}

TEST(Http, RandomBytesAreRefusedOrClosed) {
  std::mt19937_64 random = tests::generator();
  HttpServerConfig config = hello();
  config.request_patience = std::chrono::milliseconds(50);
  config.most_requests_at_once = 1000;
  const HttpServer server(config);
  for (int k = 0; k < 200; ++k) {
    std::string bytes = k % 2 ? request_of(server, "GET", "/") : std::string(random() % 4000, ' ');
    for (int change = 0; change < (k % 2 ? 3 : 4000) && !bytes.empty(); ++change)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    Client client(server);
    client.say(bytes);
    const std::string heard = client.hear("\r\n\r\n");
    EXPECT_TRUE(heard.empty() || heard.starts_with("HTTP/1.1 ")) << heard;
  }
  // Not within the time for a request, now and then.
  EXPECT_TRUE(comes_true(
      [&] { return status_of(server, request_of(server, "GET", "/")) == "HTTP/1.1 200"; }));
}

TEST(Http, SlowRequestsAndSlowReadersAreLetGo) {
  HttpServerConfig config = hello();
  config.request_patience = std::chrono::milliseconds(100);
  const HttpServer server(config);
  Client slow(server);
  slow.say("GET / HTTP/1.1\r\nHost: 127");
  EXPECT_EQ(slow.hear(), "");  // closed
  Client idle(server);
  EXPECT_EQ(idle.hear(), "");
  HttpServerConfig patient = hello();
  patient.answer_patience = std::chrono::milliseconds(100);
  const HttpServer other(patient);
  Client deaf(other, 4096);
  deaf.say(request_of(other, "GET", "/large"));
  EXPECT_TRUE(
      comes_true([&] { return other.counts().requests == 1 && other.counts().connections == 0; }));
}

TEST(Http, ConnectionsAndRequestsAreLimited) {
  HttpServerConfig config = hello();
  config.most_connections = 8;
  const HttpServer server(config);
  {
    std::vector<std::unique_ptr<Client>> all;
    for (int k = 0; k < 40; ++k) all.push_back(std::make_unique<Client>(server));
    EXPECT_TRUE(comes_true([&] { return server.counts().turned_away >= 32; }));
    EXPECT_LE(server.counts().connections, 8u);
  }
  EXPECT_TRUE(comes_true(
      [&] { return status_of(server, request_of(server, "GET", "/")) == "HTTP/1.1 200"; }));
  config.most_requests_at_once = 5;
  config.requests_per_s = 1e-6;
  const HttpServer strict(config);
  for (int k = 0; k < 5; ++k)
    EXPECT_EQ(status_of(strict, request_of(strict, "GET", "/")), "HTTP/1.1 200");
  EXPECT_EQ(status_of(strict, request_of(strict, "GET", "/")), "HTTP/1.1 429");
}

// The payload of the frames that a server sends, of those that came whole.
std::vector<std::string> messages_in(std::string_view frames) {
  std::vector<std::string> found;
  while (frames.size() >= 2) {
    const auto byte = [&](std::size_t k) {
      return static_cast<std::size_t>(static_cast<unsigned char>(frames[k]));
    };
    std::size_t head = 2, length = byte(1) & 127;
    if (length == 126 || length == 127) {
      const std::size_t more = length == 126 ? 2 : 8;
      if (frames.size() < head + more) break;
      length = 0;
      for (std::size_t k = 0; k < more; ++k) length = length << 8 | byte(2 + k);
      head += more;
    }
    if (frames.size() < head + length) break;
    if ((byte(0) & 15) == 1) found.emplace_back(frames.substr(head, length));
    frames.remove_prefix(head + length);
  }
  return found;
}

TEST(Http, WebSocketsAreGreetedAndSentWhatFollows) {
  HttpServerConfig config = hello();
  config.welcome = [] { return std::vector{shared("first"), shared("second")}; };
  HttpServer server(config);
  Client client(server);
  client.say(request_of(server, "GET", "/live", kUpgrade));
  std::string heard = client.hear("second");
  const std::size_t end = heard.find("\r\n\r\n") + 4;
  EXPECT_EQ(heard.substr(0, 12), "HTTP/1.1 101");
  EXPECT_EQ(messages_in(std::string_view(heard).substr(end)),
            (std::vector<std::string>{"first", "second"}));
  EXPECT_EQ(server.counts().sockets, 1u);
  server.send(shared(std::string(100000, 'm')));
  server.send(shared("last"));
  heard = client.hear("last");
  ASSERT_EQ(messages_in(heard).size(), 2u);
  EXPECT_EQ(messages_in(heard)[0].size(), 100000u);
  // A long message from a client ends its connection, and no other.
  client.say(std::string("\x81\xfe\x10\x00", 4) + std::string(4 + 4096, 'a'));
  client.hear();
  EXPECT_TRUE(comes_true([&] { return server.counts().sockets == 0; }));
  server.send(shared("nobody"));
}

TEST(Http, ASocketThatDoesNotReadIsSentAllAnewWhenItDoes) {
  HttpServerConfig config = hello();
  config.most_waiting_bytes = 400000;
  config.welcome = [] { return std::vector{shared("welcome")}; };
  HttpServer server(config);
  Client quick(server);
  auto deaf = std::make_unique<Client>(server, 4096);
  deaf->say(request_of(server, "GET", "/live", kUpgrade));
  quick.say(request_of(server, "GET", "/live", kUpgrade));
  EXPECT_TRUE(comes_true([&] { return server.counts().sockets == 2; }));
  quick.hear("welcome");
  for (int k = 0; k < 400; ++k) {
    server.send(shared("message " + std::to_string(k) + std::string(50000, '.')));
    quick.hear("message " + std::to_string(k));  // it is not held up
  }
  EXPECT_GT(server.counts().late_messages, 100u);
  std::thread later([&] {
    while (server.counts().sockets == 2) {  // until the client has heard of it
      server.send(shared("later"));
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  });
  const std::string heard = deaf->hear("later");
  const std::size_t again = heard.rfind("welcome");
  EXPECT_NE(again, heard.find("welcome"));
  EXPECT_GT(heard.find("later"), again);
  EXPECT_EQ(heard.find("message 399"), std::string::npos);
  deaf.reset();
  later.join();
}

// All of the state at once is more than the news that may wait.
TEST(Http, AGreetingIsGivenWholeHoweverLarge) {
  HttpServerConfig config = hello();
  config.most_waiting_bytes = 400000;
  config.welcome = [] {
    std::vector<SharedText> all;
    for (int k = 0; k < 40; ++k)
      all.push_back(shared("part " + std::to_string(k) + std::string(50000, '.')));
    return all;
  };
  HttpServer server(config);
  Client browser(server, 4096);
  browser.say(request_of(server, "GET", "/live", kUpgrade));
  const std::string heard = browser.hear("part 39");
  for (int k = 0; k < 40; ++k)
    EXPECT_NE(heard.find("part " + std::to_string(k) + "."), std::string::npos) << k;
  server.send(shared("the news"));
  EXPECT_NE(browser.hear("the news").find("the news"), std::string::npos);
  EXPECT_EQ(server.counts().late_messages, 0u);
}

TEST(Http, MessagesAreSentBeforeItEndsToThoseWhoRead) {
  HttpServerConfig config = hello();
  config.most_waiting_bytes = 20000000;
  for (const bool reads : {true, false}) {
    config.end_patience = std::chrono::milliseconds(reads ? 20000 : 50);
    auto server = std::make_unique<HttpServer>(config);
    Client browser(*server, 4096);
    browser.say(request_of(*server, "GET", "/live", kUpgrade));
    EXPECT_TRUE(comes_true([&] { return server->counts().sockets == 1; }));
    for (int k = 0; k < 100; ++k) server->send(shared(std::string(100000, '.')));
    server->send(shared("the last word"));
    std::thread ends([&] { server.reset(); });
    if (!reads) ends.join();
    const std::string heard = browser.hear("the last word");
    EXPECT_EQ(heard.find("the last word") != std::string::npos, reads);
    if (reads) ends.join();
  }
}

TEST(Http, EndsWhileClientsAreThere) {
  std::vector<std::unique_ptr<Client>> clients;
  {
    HttpServer server(hello());
    for (int k = 0; k < 20; ++k) {
      clients.push_back(std::make_unique<Client>(server));
      if (k % 2) clients.back()->say(request_of(server, "GET", "/live", kUpgrade));
    }
    EXPECT_TRUE(comes_true([&] { return server.counts().sockets == 10; }));
  }
  for (const auto& client : clients) client->hear();  // to its end
}

}  // namespace
}  // namespace tautline::stream

// A read-only HTTP server with one WebSocket address, on a thread of its own, and a client that gets one text. The
// caller supplies the content. docs/design/monitor.md has the rules of security.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace tautline::stream {

using SharedText = std::shared_ptr<const std::string>;

struct HttpAnswer {
  unsigned status = 200;
  std::string type = "text/plain; charset=utf-8";
  SharedText body;
};

struct HttpServerConfig {
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;  ///< 0: one that the system chooses
  /// Every request must carry it, as ?token= or "Authorization: Bearer". Letters, digits, - and _, at least 16; empty:
  /// no token, which is allowed for addresses of this machine alone.
  std::string token;
  /// Answers GET of a path without its query. Runs on the server's thread, so it must be quick.
  std::function<HttpAnswer(const std::string& path)> answer;
  std::string socket_path = "/live";  ///< of the WebSocket
  /// The first message of a WebSocket, sent again after the client was too slow for the messages between. Runs on the
  /// server's thread.
  std::function<std::vector<SharedText>()> welcome = {};

  std::size_t most_connections = 128;
  double requests_per_s = 50;
  std::size_t most_requests_at_once = 300;
  std::size_t most_header_bytes = 8192;
  /// Most bytes of unsent messages of one WebSocket, beside the first message.
  std::size_t most_waiting_bytes = std::size_t{8} << 20;
  std::chrono::milliseconds request_patience{10000}, answer_patience{30000};
  /// The destructor waits so long for clients to take the messages that wait for them.
  std::chrono::milliseconds end_patience{200};
};

/// Counts since the server started.
struct HttpCounts {
  std::uint64_t requests = 0;       ///< answered with content
  std::uint64_t refused = 0;        ///< answered with a status of 400 or more
  std::uint64_t turned_away = 0;    ///< connections beyond the limit
  std::uint64_t late_messages = 0;  ///< not sent to a WebSocket whose client did not read in time
  std::size_t connections = 0, sockets = 0;  ///< open now; sockets: WebSockets
};

class HttpServer {
 public:
  /// Listens when it returns. Throws Error(config) for an address or token that is not allowed, Error(io) where it
  /// cannot listen at the address, Error(unsupported) in a build without Boost.
  explicit HttpServer(HttpServerConfig config);
  /// Closes every connection.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  std::uint16_t port() const;
  /// "http://127.0.0.1:8080/", with the token where there is one.
  std::string url() const;
  /// Sends to every WebSocket; from any thread, returns at once.
  void send(SharedText message);
  /// From any thread.
  HttpCounts counts() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// The body of http://HOST:PORT/PATH, of at most 16 MiB. Throws Error(config) for another form of URL, Error(io) where
/// no answer comes within `patience` or the status is not 200, Error(unsupported) in a build without Boost.
std::string http_get(const std::string& url, std::chrono::milliseconds patience);

}  // namespace tautline::stream

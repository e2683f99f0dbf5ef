// The connections of an HTTP server and the state that they share. Of http_server.cpp alone.
#pragma once

#ifdef TAUTLINE_BOOST

#include <algorithm>
#include <atomic>
#include <memory>
#include <set>
#include <utility>
// Asio of Debian 12 lacks an include of <utility>.
#include <boost/asio.hpp>

#include "tautline/stream/http.h"

namespace tautline::stream::http_server {

// Most in one second, and most at once.
class Bucket {
 public:
  Bucket(double per_s, std::size_t most)
      : per_s_(per_s), most_(static_cast<double>(most)), left_(most_) {}
  bool take() {
    const auto now = std::chrono::steady_clock::now();
    left_ = std::min(most_, left_ + per_s_ * std::chrono::duration<double>(now - then_).count());
    then_ = now;
    if (left_ < 1) return false;
    --left_;
    return true;
  }

 private:
  double per_s_, most_, left_;
  std::chrono::steady_clock::time_point then_ = std::chrono::steady_clock::now();
};

class Connection;
class WebSocket;

/// Everything except the counts belongs to the server's thread.
struct Shared {
  HttpServerConfig config;
  boost::asio::ip::tcp::endpoint endpoint;
  Bucket bucket;
  std::set<WebSocket*> sockets;
  std::set<Connection*> connections;
  std::atomic<std::uint64_t> requests = 0, refused = 0, turned_away = 0, late_messages = 0;
  std::atomic<std::size_t> connected = 0, socket_count = 0;

  explicit Shared(HttpServerConfig c)
      : config(std::move(c)), bucket(config.requests_per_s, config.most_requests_at_once) {}
};
using SharedPointer = std::shared_ptr<Shared>;

/// Answers requests until the client has gone.
void serve(const SharedPointer& shared, boost::asio::ip::tcp::socket socket);
/// Sends to every WebSocket.
void send_to_all(const Shared& shared, const SharedText& message);
/// Whether no message waits for a WebSocket.
bool all_sent(const Shared& shared);
void close_all(const Shared& shared);

}  // namespace tautline::stream::http_server

#endif

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <thread>
#include <utility>

#include "tautline/core/error.h"
#include "tautline/core/threads.h"
#include "tautline/stream/http.h"
#include "tautline/stream/http_connection.h"

namespace tautline::stream {

#ifdef TAUTLINE_BOOST

namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using core::Error;
using core::ErrorKind;

constexpr std::size_t kLeastToken = 16;

void check(const HttpServerConfig& config, const asio::ip::address& address) {
  const auto allowed = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_';
  };
  if (!std::all_of(config.token.begin(), config.token.end(), allowed) ||
      (!config.token.empty() && config.token.size() < kLeastToken))
    throw Error(ErrorKind::config, "token", fmt::format("{} characters", config.token.size()),
                fmt::format("{} at least, letters, digits, - and _ alone", kLeastToken));
  if (config.token.empty() && !address.is_loopback())
    throw Error(ErrorKind::config, "token", "not given",
                "one, for an address that other machines reach: " + config.address,
                "or listen on 127.0.0.1, and reach it through ssh -L");
}

}  // namespace

class HttpServer::Impl {
 public:
  explicit Impl(HttpServerConfig config)
      : shared_(std::make_shared<http_server::Shared>(std::move(config))) {
    const HttpServerConfig& c = shared_->config;
    error_code error;
    const auto address =
        asio::ip::make_address(c.address == "localhost" ? "127.0.0.1" : c.address, error);
    if (error)
      throw Error(ErrorKind::config, "address", c.address,
                  "an address in numbers, as 127.0.0.1, or localhost");
    check(c, address);
    const tcp::endpoint wanted(address, c.port);
    acceptor_.open(wanted.protocol(), error);
    if (!error) acceptor_.set_option(asio::socket_base::reuse_address(true), error);
    if (!error) acceptor_.bind(wanted, error);
    if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
    if (error)
      throw Error(ErrorKind::io, "address",
                  fmt::format("{}:{}: {}", c.address, c.port, error.message()), "a free one",
                  "name another port, or 0 for any");
    shared_->endpoint = acceptor_.local_endpoint();
    accept();
    thread_ = std::jthread([this] {
      core::name_this_thread("http");
      io_.run();
    });
  }
  ~Impl() {
    asio::post(io_, [this] {
      error_code ignored;
      acceptor_.close(ignored);
      pause_.cancel();
      end(std::chrono::steady_clock::now() + shared_->config.end_patience);
    });
  }

  void send(SharedText message) {
    asio::post(io_, [shared = shared_, message = std::move(message)] {
      http_server::send_to_all(*shared, message);
    });
  }

  http_server::SharedPointer shared_;

 private:
  // When all messages have gone, or the time has passed: the last one tells that the run has ended.
  void end(std::chrono::steady_clock::time_point latest) {
    if (!http_server::all_sent(*shared_) && std::chrono::steady_clock::now() < latest) {
      pause_.expires_after(std::chrono::milliseconds(5));
      pause_.async_wait([this, latest](const error_code&) { end(latest); });
      return;
    }
    http_server::close_all(*shared_);
    io_.stop();
  }
  void accept() {
    acceptor_.async_accept([this](const error_code& error, tcp::socket socket) {
      if (error == asio::error::operation_aborted) return;
      if (error) {  // no descriptors left, for instance
        pause_.expires_after(std::chrono::milliseconds(100));
        pause_.async_wait([this](const error_code& cancelled) {
          if (!cancelled) accept();
        });
        return;
      }
      if (shared_->connected >= shared_->config.most_connections) {
        ++shared_->turned_away;
      } else {
        http_server::serve(shared_, std::move(socket));
      }
      accept();
    });
  }

  asio::io_context io_{1};
  tcp::acceptor acceptor_{io_};
  asio::steady_timer pause_{io_};
  std::jthread thread_;
};

HttpServer::HttpServer(HttpServerConfig config)
    : impl_(std::make_unique<Impl>(std::move(config))) {}
HttpServer::~HttpServer() = default;
std::uint16_t HttpServer::port() const {
  return impl_->shared_->endpoint.port();
}
std::string HttpServer::url() const {
  const tcp::endpoint& at = impl_->shared_->endpoint;
  const std::string& token = impl_->shared_->config.token;
  const std::string host =
      at.address().is_v6() ? "[" + at.address().to_string() + "]" : at.address().to_string();
  return fmt::format("http://{}:{}/{}{}", host, at.port(), token.empty() ? "" : "?token=", token);
}
void HttpServer::send(SharedText message) {
  impl_->send(std::move(message));
}
HttpCounts HttpServer::counts() const {
  const http_server::Shared& shared = *impl_->shared_;
  return {shared.requests,      shared.refused,   shared.turned_away,
          shared.late_messages, shared.connected, shared.socket_count};
}

#else

class HttpServer::Impl {};
HttpServer::HttpServer(HttpServerConfig) {
  throw core::Error(core::ErrorKind::unsupported, "http", "a build without Boost",
                    "a build with it", "install libboost-dev and build again");
}
HttpServer::~HttpServer() = default;
std::uint16_t HttpServer::port() const {
  return 0;
}
std::string HttpServer::url() const {
  return {};
}
void HttpServer::send(SharedText) {}
HttpCounts HttpServer::counts() const {
  return {};
}

#endif

}  // namespace tautline::stream

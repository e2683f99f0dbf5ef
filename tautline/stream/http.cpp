#include "tautline/stream/http.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <deque>
#include <mutex>
#include <optional>
#include <set>
#include <string_view>
#include <thread>
#include <utility>

#include "tautline/core/error.h"

#ifdef TAUTLINE_BOOST
#include <boost/asio.hpp>
#include <boost/beast.hpp>
#endif

namespace tautline::stream {

#ifdef TAUTLINE_BOOST

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
namespace websocket = boost::beast::websocket;
using asio::ip::tcp;
using boost::system::error_code;
using core::Error;
using core::ErrorKind;
using Request = http::request<http::empty_body>;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kLeastToken = 16;
constexpr std::size_t kMostFromSocket = 1024;  // bytes of a message that a WebSocket sends us
constexpr std::size_t kMostDiscarded = std::size_t{4}
                                       << 20;  // of what a refused client still sends
constexpr std::size_t kMostFetched = std::size_t{16} << 20;

// In a time that does not depend on where they differ.
bool same_token(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned different = 0;
  for (std::size_t k = 0; k < a.size(); ++k) different |= static_cast<unsigned char>(a[k] ^ b[k]);
  return different == 0;
}

std::string_view view(beast::string_view text) {
  return {text.data(), text.size()};
}

std::string_view token_in(std::string_view query) {
  while (!query.empty()) {
    const std::string_view part = query.substr(0, query.find('&'));
    if (part.starts_with("token=")) return part.substr(6);
    query.remove_prefix(std::min(query.size(), part.size() + 1));
  }
  return {};
}

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

// So many a second, and so many at once.
class Bucket {
 public:
  Bucket(double per_s, std::size_t most)
      : per_s_(per_s), most_(static_cast<double>(most)), left_(most_) {}
  bool take() {
    const auto now = Clock::now();
    left_ = std::min(most_, left_ + per_s_ * std::chrono::duration<double>(now - then_).count());
    then_ = now;
    if (left_ < 1) return false;
    --left_;
    return true;
  }

 private:
  double per_s_, most_, left_;
  Clock::time_point then_ = Clock::now();
};

class WebSocket;

// What connections share of their server. All of it but the counts belongs to the server's thread.
struct Shared {
  HttpServerConfig config;
  tcp::endpoint endpoint;
  Bucket bucket;
  std::set<WebSocket*> sockets;
  std::set<void*> connections;
  std::atomic<std::uint64_t> requests = 0, refused = 0, turned_away = 0, late_messages = 0;
  std::atomic<std::size_t> connected = 0, socket_count = 0;

  explicit Shared(HttpServerConfig c)
      : config(std::move(c)), bucket(config.requests_per_s, config.most_requests_at_once) {}
  bool ours(std::string_view host) const;
  unsigned refusal(const Request& request, std::string_view query) const;
};
using SharedPointer = std::shared_ptr<Shared>;

// Another site's script could reach us by a name that it points at this machine; browsers then say that name here.
bool Shared::ours(std::string_view host) const {
  if (!endpoint.address().is_loopback())
    return !config.token.empty();  // no other site knows the token
  for (const std::string& name : {std::string("127.0.0.1"), std::string("localhost"),
                                  std::string("[::1]"), endpoint.address().to_string()})
    if (host == fmt::format("{}:{}", name, endpoint.port())) return true;
  return false;
}

// 0: none.
unsigned Shared::refusal(const Request& request, std::string_view query) const {
  const std::string_view host = view(request[http::field::host]);
  const auto origin = request.find(http::field::origin);
  if (request.method() != http::verb::get && request.method() != http::verb::head) return 405;
  if (!ours(host)) return 421;
  if (origin != request.end() && view(origin->value()) != fmt::format("http://{}", host))
    return 403;
  if (config.token.empty()) return 0;
  std::string_view given = view(request[http::field::authorization]);
  given = given.starts_with("Bearer ") ? given.substr(7) : token_in(query);
  return same_token(given, config.token) ? 0 : 401;
}

// A browser that follows messages. What it cannot take in time it is not sent; once it reads again, it gets all anew.
class WebSocket : public std::enable_shared_from_this<WebSocket> {
 public:
  WebSocket(SharedPointer shared, beast::tcp_stream stream)
      : shared_(std::move(shared)), socket_(std::move(stream)) {
    ++shared_->connected;
  }
  ~WebSocket() {
    leave();
    --shared_->connected;
  }

  void accept(const Request& request) {
    beast::get_lowest_layer(socket_).expires_never();  // the WebSocket has times of its own
    auto times = websocket::stream_base::timeout::suggested(beast::role_type::server);
    times.idle_timeout = std::chrono::seconds(20);
    socket_.set_option(times);
    socket_.read_message_max(kMostFromSocket);
    socket_.auto_fragment(false);
    socket_.async_accept(request, [self = shared_from_this()](const error_code& error) {
      if (error) return;
      self->shared_->sockets.insert(self.get());
      ++self->shared_->socket_count;
      self->joined_ = true;
      self->discard();
      self->greet();
    });
  }

  void send(SharedText message) {
    if (behind_) {
      ++shared_->late_messages;
      return;
    }
    waiting_bytes_ += message->size();
    waiting_.push_back(std::move(message));
    if (waiting_bytes_ > shared_->config.most_waiting_bytes && waiting_.size() > 1) {
      shared_->late_messages += waiting_.size() - 1;
      waiting_.erase(waiting_.begin() + 1, waiting_.end());  // the first is on its way
      waiting_bytes_ = waiting_.front()->size();
      behind_ = true;
    }
    if (!writing_) write();
  }

  void close() {
    error_code ignored;
    beast::get_lowest_layer(socket_).socket().close(ignored);
  }

 private:
  void greet() {
    if (!shared_->config.welcome) return;
    for (SharedText& message : shared_->config.welcome()) send(std::move(message));
  }

  void write() {
    if (waiting_.empty()) {
      if (std::exchange(behind_, false)) greet();
      if (waiting_.empty() || writing_) return;
    }
    writing_ = true;
    socket_.text(true);
    const SharedText& first = waiting_.front();
    socket_.async_write(asio::buffer(*first),
                        [self = shared_from_this()](const error_code& error, std::size_t) {
                          self->writing_ = false;
                          if (error) return self->leave();
                          self->waiting_bytes_ -= self->waiting_.front()->size();
                          self->waiting_.pop_front();
                          self->write();
                        });
  }

  void discard() {
    socket_.async_read(incoming_,
                       [self = shared_from_this()](const error_code& error, std::size_t) {
                         if (error) {
                           self->leave();
                           return self->close();
                         }
                         self->incoming_.consume(self->incoming_.size());
                         self->discard();
                       });
  }

  void leave() {
    if (!std::exchange(joined_, false)) return;
    shared_->sockets.erase(this);
    --shared_->socket_count;
  }

  SharedPointer shared_;
  websocket::stream<beast::tcp_stream> socket_;
  beast::flat_buffer incoming_;
  std::deque<SharedText> waiting_;
  std::size_t waiting_bytes_ = 0;
  bool writing_ = false, behind_ = false, joined_ = false;
};

// Requests and answers of one connection.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(SharedPointer shared, tcp::socket socket)
      : shared_(std::move(shared)), stream_(std::move(socket)) {
    shared_->connections.insert(this);
    ++shared_->connected;
  }
  ~Connection() {
    shared_->connections.erase(this);
    --shared_->connected;
  }

  void read() {
    parser_.emplace();
    parser_->header_limit(static_cast<std::uint32_t>(shared_->config.most_header_bytes));
    parser_->body_limit(0);
    stream_.expires_after(shared_->config.request_patience);
    http::async_read_header(
        stream_, buffer_, *parser_,
        [self = shared_from_this()](const error_code& error, std::size_t) {
          if (!error) return self->handle();
          if (error == http::error::header_limit) return self->refuse(431);
          if (error == http::error::body_limit || error == http::error::unexpected_body)
            return self->refuse(413);
          // HTTP's own complaints; otherwise nobody is there any more.
          if (error.category() == make_error_code(http::error::bad_method).category() &&
              error != http::error::end_of_stream && error != http::error::partial_message)
            self->refuse(400);
        });
  }
  void close() {
    error_code ignored;
    stream_.socket().close(ignored);
  }

 private:
  void handle() {
    const Request& request = parser_->get();
    const std::string_view target = view(request.target());
    const std::string path(target.substr(0, target.find('?')));
    const std::string_view query =
        path.size() < target.size() ? target.substr(path.size() + 1) : "";
    if (!shared_->bucket.take()) return refuse(429);
    if (const unsigned refused = shared_->refusal(request, query)) return refuse(refused);
    if (!parser_->is_done()) return refuse(413);  // a body follows
    if (websocket::is_upgrade(request)) {
      if (path != shared_->config.socket_path) return refuse(404);
      ++shared_->requests;
      std::make_shared<WebSocket>(shared_, std::move(stream_))->accept(request);
      return;
    }
    HttpAnswer answer =
        shared_->config.answer ? shared_->config.answer(path) : HttpAnswer{404, {}, {}};
    if (answer.status >= 400 || !answer.body)
      return refuse(answer.status >= 400 ? answer.status : 404);
    ++shared_->requests;
    give(answer, request.method() == http::verb::head, request.keep_alive());
  }

  void refuse(unsigned status) {
    ++shared_->refused;
    const std::string reason(view(http::obsolete_reason(http::int_to_status(status))));
    give({status, "text/plain; charset=utf-8",
          std::make_shared<std::string>(fmt::format("{} {}\n", status, reason))},
         false, false);
  }

  // The head by itself, then the body from where it lies.
  void give(const HttpAnswer& answer, bool head_alone, bool keep_alive) {
    head_ = fmt::format(
        "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nCache-Control: no-store\r\n"
        "X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\nX-Frame-Options: "
        "DENY\r\n"
        "Content-Security-Policy: default-src 'none'; script-src 'unsafe-inline'; style-src "
        "'unsafe-inline'; "
        "img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors "
        "'none'\r\n"
        "Cross-Origin-Resource-Policy: same-origin\r\n{}{}Connection: {}\r\n\r\n",
        answer.status, view(http::obsolete_reason(http::int_to_status(answer.status))), answer.type,
        answer.body->size(), answer.status == 405 ? "Allow: GET, HEAD\r\n" : "",
        answer.status == 429 ? "Retry-After: 1\r\n" : "", keep_alive ? "keep-alive" : "close");
    body_ = answer.body;
    const std::array<asio::const_buffer, 2> parts{
        asio::buffer(head_), head_alone ? asio::const_buffer() : asio::buffer(*body_)};
    stream_.expires_after(shared_->config.answer_patience);
    asio::async_write(
        stream_, parts,
        [self = shared_from_this(), keep_alive](const error_code& error, std::size_t) {
          if (error) return;
          if (keep_alive) return self->read();
          error_code ignored;
          self->stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
          self->stream_.expires_after(std::chrono::seconds(1));
          self->discard(0);
        });
  }

  // What the client still sends: a connection that is closed over it would take the answer away.
  void discard(std::size_t so_far) {
    if (so_far > kMostDiscarded) return;
    stream_.async_read_some(asio::buffer(rest_), [self = shared_from_this(), so_far](
                                                     const error_code& error, std::size_t bytes) {
      if (!error) self->discard(so_far + bytes);
    });
  }

  SharedPointer shared_;
  beast::tcp_stream stream_;
  beast::flat_buffer buffer_{std::size_t{64} << 10};
  std::optional<http::request_parser<http::empty_body>> parser_;
  std::string head_;
  SharedText body_;
  std::array<char, 16384> rest_;
};

}  // namespace

class HttpServer::Impl {
 public:
  explicit Impl(HttpServerConfig config) : shared_(std::make_shared<Shared>(std::move(config))) {
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
    thread_ = std::jthread([this] { io_.run(); });
  }
  ~Impl() {
    asio::post(io_, [this] {
      error_code ignored;
      acceptor_.close(ignored);
      pause_.cancel();
      for (WebSocket* socket : shared_->sockets) socket->close();
      for (void* connection : shared_->connections) static_cast<Connection*>(connection)->close();
      io_.stop();
    });
  }

  void send(SharedText message) {
    asio::post(io_, [shared = shared_, message = std::move(message)] {
      for (WebSocket* socket : shared->sockets) socket->send(message);
    });
  }

  SharedPointer shared_;

 private:
  void accept() {
    acceptor_.async_accept([this](const error_code& error, tcp::socket socket) {
      if (error == asio::error::operation_aborted) return;
      if (error) {  // no descriptors left, say
        pause_.expires_after(std::chrono::milliseconds(100));
        pause_.async_wait([this](const error_code& cancelled) {
          if (!cancelled) accept();
        });
        return;
      }
      if (shared_->connected >= shared_->config.most_connections) {
        ++shared_->turned_away;
      } else {
        std::make_shared<Connection>(shared_, std::move(socket))->read();
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
  const Shared& shared = *impl_->shared_;
  return {shared.requests,      shared.refused,   shared.turned_away,
          shared.late_messages, shared.connected, shared.socket_count};
}

std::string http_get(const std::string& url, std::chrono::milliseconds patience) {
  constexpr std::string_view kScheme = "http://";
  const std::size_t slash = url.find('/', kScheme.size());
  const std::string place =
      url.substr(std::min(kScheme.size(), url.size()), slash - kScheme.size());
  const std::size_t colon = place.rfind(':');
  if (!url.starts_with(kScheme) || colon == std::string::npos || slash == std::string::npos)
    throw Error(ErrorKind::config, "url", url, "http://HOST:PORT/PATH");
  std::string host = place.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  asio::io_context io{1};
  error_code failed;
  const auto found = tcp::resolver(io).resolve(host, place.substr(colon + 1), failed);
  if (failed) throw Error(ErrorKind::io, url, failed.message(), "a host that this machine knows");
  beast::tcp_stream stream(io);
  Request request{http::verb::get, url.substr(slash), 11};
  request.set(http::field::host, place);
  beast::flat_buffer buffer;
  http::response_parser<http::string_body> parser;
  parser.body_limit(kMostFetched);
  stream.expires_after(patience);
  stream.async_connect(found, [&](const error_code& unconnected, const tcp::endpoint&) {
    failed = unconnected;
    if (failed) return;
    http::async_write(stream, request, [&](const error_code& unsent, std::size_t) {
      failed = unsent;
      if (failed) return;
      http::async_read(stream, buffer, parser,
                       [&](const error_code& unread, std::size_t) { failed = unread; });
    });
  });
  io.run();
  if (failed)
    throw Error(ErrorKind::io, url, failed.message(), "an answer",
                "is the run that it belongs to over?");
  if (parser.get().result() != http::status::ok)
    throw Error(ErrorKind::io, url, fmt::format("status {}", parser.get().result_int()), "200",
                parser.get().result_int() == 401 ? "give the address with its token" : "");
  return std::move(parser.get().body());
}

#else

class HttpServer::Impl {};

namespace {
[[noreturn]] void refuse_http() {
  throw core::Error(core::ErrorKind::unsupported, "http", "a build without Boost",
                    "a build with it", "install libboost-dev and build again");
}
}  // namespace

HttpServer::HttpServer(HttpServerConfig) {
  refuse_http();
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
std::string http_get(const std::string&, std::chrono::milliseconds) {
  refuse_http();
}

#endif

}  // namespace tautline::stream

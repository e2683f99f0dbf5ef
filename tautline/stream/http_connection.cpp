#include "tautline/stream/http_connection.h"

#ifdef TAUTLINE_BOOST

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/beast.hpp>
#include <deque>
#include <optional>
#include <string_view>

namespace tautline::stream::http_server {

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
namespace websocket = boost::beast::websocket;
using asio::ip::tcp;
using boost::system::error_code;
using Request = http::request<http::empty_body>;

constexpr std::size_t kMostFromSocket = 1024;  // bytes of a message from a WebSocket's client
constexpr std::size_t kMostDiscarded = std::size_t{4}
                                       << 20;  // bytes that a refused client may still send

// Compares in a time that does not depend on the place of the difference.
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

// Another site's script could reach this server by a name that it resolves to this machine; browsers then send that
// name here.
bool ours(const Shared& shared, std::string_view host) {
  if (!shared.endpoint.address().is_loopback())
    return !shared.config.token.empty();  // no other site knows the token
  for (const std::string& name : {std::string("127.0.0.1"), std::string("localhost"),
                                  std::string("[::1]"), shared.endpoint.address().to_string()})
    if (host == fmt::format("{}:{}", name, shared.endpoint.port())) return true;
  return false;
}

// 0: none.
unsigned refusal(const Shared& shared, const Request& request, std::string_view query) {
  const std::string_view host = view(request[http::field::host]);
  const auto origin = request.find(http::field::origin);
  if (request.method() != http::verb::get && request.method() != http::verb::head) return 405;
  if (!ours(shared, host)) return 421;
  if (origin != request.end() && view(origin->value()) != fmt::format("http://{}", host))
    return 403;
  if (shared.config.token.empty()) return 0;
  std::string_view given = view(request[http::field::authorization]);
  given = given.starts_with("Bearer ") ? given.substr(7) : token_in(query);
  return same_token(given, shared.config.token) ? 0 : 401;
}

}  // namespace

// A browser that follows messages. Messages that it is too slow for are not sent; once it reads again, it gets the
// whole state anew.
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
    news_bytes_ += message->size();
    waiting_.push_back(std::move(message));
    if (news_bytes_ > shared_->config.most_waiting_bytes) {
      // The first message is being sent, and a greeting is given whole, however large: otherwise no client would ever
      // have the whole state.
      const std::size_t kept = std::max<std::size_t>(greeting_, writing_ ? 1 : 0);
      shared_->late_messages += waiting_.size() - kept;
      waiting_.resize(kept);
      news_bytes_ = kept > greeting_ ? waiting_.front()->size() : 0;
      behind_ = true;
    }
    if (!writing_) write();
  }

  bool all_sent() const { return waiting_.empty(); }
  void close() {
    error_code ignored;
    beast::get_lowest_layer(socket_).socket().close(ignored);
  }

 private:
  void greet() {
    if (!shared_->config.welcome) return;
    for (SharedText& message : shared_->config.welcome()) {
      waiting_.push_back(std::move(message));
      ++greeting_;
    }
    if (!writing_ && !waiting_.empty()) write();
  }

  void write() {
    if (waiting_.empty()) {
      if (std::exchange(behind_, false)) greet();  // which writes
      return;
    }
    writing_ = true;
    socket_.text(true);
    const SharedText& first = waiting_.front();
    socket_.async_write(asio::buffer(*first),
                        [self = shared_from_this()](const error_code& error, std::size_t) {
                          self->writing_ = false;
                          if (error) return self->leave();
                          if (self->greeting_ > 0)
                            --self->greeting_;
                          else
                            self->news_bytes_ -= self->waiting_.front()->size();
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
  std::size_t greeting_ = 0;    // the first of these messages, which hold the whole state
  std::size_t news_bytes_ = 0;  // bytes of the other messages
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
          // errors of HTTP itself are answered; otherwise the client has gone
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
    if (const unsigned refused = refusal(*shared_, request, query)) return refuse(refused);
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

  // The head by itself, then the body without a copy.
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

  // Reads the rest of the client's bytes: a connection that is closed before would lose the answer.
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

void serve(const SharedPointer& shared, tcp::socket socket) {
  std::make_shared<Connection>(shared, std::move(socket))->read();
}

void send_to_all(const Shared& shared, const SharedText& message) {
  for (WebSocket* socket : shared.sockets) socket->send(message);
}

bool all_sent(const Shared& shared) {
  return std::ranges::all_of(shared.sockets,
                             [](const WebSocket* socket) { return socket->all_sent(); });
}

void close_all(const Shared& shared) {
  for (WebSocket* socket : shared.sockets) socket->close();
  for (Connection* connection : shared.connections) connection->close();
}

}  // namespace tautline::stream::http_server

#endif

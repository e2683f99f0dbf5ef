#include "tautline/stream/tcp.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <thread>
#include <utility>

#include "tautline/core/error.h"

#ifdef TAUTLINE_BOOST
#include <boost/asio.hpp>
#endif

namespace tautline::stream {

#ifdef TAUTLINE_BOOST

namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

// Time between two checks of the stop token.
constexpr std::chrono::milliseconds kTcpPatience{50};
// Most bytes of one reading: more would leave the caches before they are used.
constexpr std::size_t kMostAtOnce = std::size_t{256} << 10;

core::Error tcp_error(const std::string& what, const Endpoint& endpoint, const error_code& error,
                      const std::string& advice = {}) {
  return core::Error(core::ErrorKind::io, what, to_string(endpoint) + ": " + error.message(), "",
                     advice);
}

tcp::endpoint resolve(asio::io_context& io, const std::string& what, const Endpoint& endpoint) {
  error_code error;
  const auto found = tcp::resolver(io).resolve(endpoint.host, std::to_string(endpoint.port), error);
  if (error || found.empty())
    throw tcp_error(what, endpoint, error, "name an address that this machine knows");
  // A name of both kinds ("localhost") resolves to the same address for listeners and clients.
  const auto v4 = std::find_if(found.begin(), found.end(),
                               [](const auto& one) { return one.endpoint().address().is_v4(); });
  return v4 != found.end() ? v4->endpoint() : found.begin()->endpoint();
}

// Keep-alive probes on a silent connection, so that a connection whose machine has gone ends within `silence`.
void set_probes(tcp::socket& socket, std::chrono::seconds silence) {
  const int all = std::max(2, static_cast<int>(silence.count()));
  const int idle = std::max(1, all / 3), between = std::max(1, all / 6),
            probes = std::max(1, (all - idle) / between);
  error_code ignored;
  socket.set_option(asio::socket_base::keep_alive(true), ignored);
  const auto set = [&](int option, int value) {
    ::setsockopt(socket.native_handle(), IPPROTO_TCP, option, &value, sizeof(value));
  };
  set(TCP_KEEPIDLE, idle);
  set(TCP_KEEPINTVL, between);
  set(TCP_KEEPCNT, probes);
}

// Whether the other side has ended a connection, though perhaps not all of its bytes are read.
bool has_ended(tcp::socket& socket) {
  tcp_info info{};
  socklen_t size = sizeof(info);
  return ::getsockopt(socket.native_handle(), IPPROTO_TCP, TCP_INFO, &info, &size) == 0 &&
         (info.tcpi_state == TCP_CLOSE_WAIT || info.tcpi_state == TCP_CLOSE);
}

}  // namespace

class TcpServer::Impl {
 public:
  explicit Impl(TcpServerConfig config) : config_(std::move(config)) {
    if (config_.listen.size() != 1 && config_.listen.size() != config_.places)
      throw core::Error(core::ErrorKind::config, "listen",
                        fmt::format("{} addresses", config_.listen.size()),
                        fmt::format("one, or one for each of {} senders", config_.places));
    for (std::size_t k = 0; k < config_.places; ++k)
      places_.push_back(std::make_unique<Place>(io_, config_.buffer_bytes));
    for (const Endpoint& endpoint : config_.listen) listen_at(endpoint);
    for (std::size_t k = 0; k < acceptors_.size(); ++k) accept(k);
  }
  ~Impl() {
    // The remaining handlers refer to places: they are destroyed first.
    for (auto& acceptor : acceptors_) {
      error_code ignored;
      acceptor.close(ignored);
    }
    for (const auto& place : places_) {
      error_code ignored;
      place->socket.close(ignored);
    }
    io_.restart();
    io_.poll();
  }

  std::vector<Endpoint> listening() const {
    std::vector<Endpoint> all;
    for (std::size_t k = 0; k < acceptors_.size(); ++k) {
      all.push_back(config_.listen[k]);
      all.back().port = acceptors_[k].local_endpoint().port();
    }
    return all;
  }

  void wait(std::chrono::milliseconds most) {
    io_.restart();
    if (io_.run_one_for(most) > 0) io_.poll();
  }

  using Clock = std::chrono::steady_clock;
  struct Place {
    Place(asio::io_context& io, std::size_t buffer_bytes)
        : socket(io), buffer(std::make_unique_for_overwrite<std::byte[]>(buffer_bytes)) {}

    tcp::socket socket;
    std::string address;  // of the last sender
    std::unique_ptr<std::byte[]> buffer;
    std::size_t begin = 0, end = 0;  // of the unconsumed bytes
    std::uint64_t connections = 0, received = 0;
    std::uint64_t received_before = 0;  // this connection
    Clock::time_point last_came = {};
    bool connected = false, listens = false;  // listens: a handler waits for more
  };

  void consume(std::size_t k, std::size_t count) {
    Place& place = *places_[k];
    place.begin += std::min(count, place.end - place.begin);
    if (place.begin == place.end) place.begin = place.end = 0;
    if (place.connected && !place.listens) read_when_ready(k);
    if (is_free(place)) seat_waiting();
  }

  TcpServerConfig config_;
  asio::io_context io_{1};
  std::vector<tcp::acceptor> acceptors_;
  std::vector<asio::steady_timer> pauses_;  // of each
  std::vector<std::unique_ptr<Place>> places_;
  std::uint64_t refused_ = 0;

 private:
  struct Caller {
    std::size_t listener;
    tcp::socket socket;
  };

  void listen_at(const Endpoint& endpoint) {
    const tcp::endpoint at = resolve(io_, "listen", endpoint);
    error_code error;
    tcp::acceptor& acceptor = acceptors_.emplace_back(io_);
    pauses_.emplace_back(io_);
    acceptor.open(at.protocol(), error);
    if (!error) acceptor.set_option(tcp::acceptor::reuse_address(true), error);
    if (!error) acceptor.bind(at, error);
    if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
    if (error)
      throw tcp_error("listen", endpoint, error,
                      "choose another port, or port 0 for one that is free");
  }

  void accept(std::size_t listener) {
    acceptors_[listener].async_accept(
        [this, listener](const error_code& error, tcp::socket socket) {
          if (error == asio::error::operation_aborted) return;
          if (!error) {
            take({listener, std::move(socket)});
            return accept(listener);
          }
          asio::steady_timer& pause = pauses_[listener];  // no descriptors are left, for instance
          pause.expires_after(std::chrono::milliseconds(100));
          pause.async_wait([this, listener](const error_code& cancelled) {
            if (!cancelled) accept(listener);
          });
        });
  }

  bool is_free(const Place& place) const { return !place.connected && place.begin == place.end; }

  // Each place has an address to connect to.
  bool by_listener() const { return config_.listen.size() == places_.size() && places_.size() > 1; }

  // Whether a sender may have gone although its place is not free.
  bool in_doubt(Place& place) const {
    if (is_free(place)) return false;
    if (!place.connected || has_ended(place.socket)) return true;
    error_code ignored;
    return place.listens && place.received > place.received_before &&
           place.socket.available(ignored) == 0 && Clock::now() - place.last_came >= config_.doubt;
  }

  // The place, not free yet, of a sender that seems to have reconnected, or the number of places.
  std::size_t find_own_place(std::size_t listener, const std::string& address,
                             bool any_free) const {
    const bool several_hosts = std::any_of(places_.begin(), places_.end(), [&](const auto& place) {
      return place->connections > 0 && place->address != address;
    });
    if (any_free && !several_hosts) return places_.size();
    for (std::size_t k = 0; k < places_.size(); ++k)
      if ((by_listener() ? k == listener : places_[k]->address == address) && in_doubt(*places_[k]))
        return k;
    return places_.size();
  }

  // The free place for a sender, or the number of places.
  std::size_t find_place(std::size_t listener, const std::string& address) const {
    std::size_t chosen = places_.size();
    for (std::size_t k = places_.size(); k-- > 0;) {
      if (!is_free(*places_[k]) || (by_listener() && k != listener)) continue;
      const bool had_it = chosen < places_.size() && places_[chosen]->address == address;
      if (!had_it || places_[k]->address == address) chosen = k;
    }
    return chosen;
  }

  void take(Caller caller) {
    error_code error;
    const auto peer = caller.socket.remote_endpoint(error);
    if (error) return;  // gone already
    const std::string address = peer.address().to_string();
    const std::size_t chosen = find_place(caller.listener, address);
    const bool any_free = chosen < places_.size();
    const bool had_it = any_free && places_[chosen]->address == address;
    const std::size_t own =
        had_it ? places_.size() : find_own_place(caller.listener, address, any_free);
    if (own == places_.size() && any_free) {
      seat(chosen, std::move(caller.socket), address);
      return;
    }
    if (own < places_.size()) give_up(own);
    if (own < places_.size() && is_free(*places_[own])) {
      seat(own, std::move(caller.socket), address);
      return;
    }
    // Places of senders that have gone become free when their last bytes are consumed.
    const auto leaving = std::count_if(places_.begin(), places_.end(), [&](const auto& place) {
      return !is_free(*place) && (!place->connected || has_ended(place->socket));
    });
    if (static_cast<std::ptrdiff_t>(waiting_.size()) < leaving) {
      waiting_.push_back(std::move(caller));
      return;
    }
    if (++refused_ == 1)
      say(core::LogLevel::warning, fmt::format("{}:{} is refused: all {} senders are there",
                                               address, peer.port(), places_.size()));
  }

  // Takes over the place of a sender that has not ended, and whose host reconnects. Bytes that an ended sender has sent
  // are still read.
  void give_up(std::size_t k) {
    Place& place = *places_[k];
    if (!place.connected || has_ended(place.socket)) return;
    error_code ignored;
    place.socket.close(ignored);
    place.connected = place.listens = false;
    say(core::LogLevel::warning,
        fmt::format("sender {} of {} was silent and connects again; its old connection is given up",
                    k + 1, places_.size()));
  }

  void seat_waiting() {
    std::vector<Caller> callers = std::exchange(waiting_, {});
    for (Caller& caller : callers) take(std::move(caller));
  }

  void seat(std::size_t k, tcp::socket socket, const std::string& address) {
    Place& place = *places_[k];
    error_code ignored;
    place.socket = std::move(socket);
    place.socket.non_blocking(true, ignored);
    set_probes(place.socket, config_.silence);
    place.address = address;
    place.connected = true;
    place.received_before = place.received;
    ++place.connections;
    say(core::LogLevel::info,
        fmt::format("sender {} of {} connected from {}", k + 1, places_.size(), address));
    read_when_ready(k);
  }

  void read_when_ready(std::size_t k) {
    Place& place = *places_[k];
    place.listens = true;
    place.socket.async_wait(tcp::socket::wait_read, [this, k](const error_code& error) {
      if (error != asio::error::operation_aborted) read(k);
    });
  }

  // Only here bytes are put into the buffer or moved in it.
  void read(std::size_t k) {
    Place& place = *places_[k];
    place.listens = false;
    // Moves at most as many bytes as were consumed: more than half of the buffer is then free.
    if (place.begin > 0 && place.begin >= place.end - place.begin &&
        config_.buffer_bytes - place.end < kMostAtOnce) {
      std::memmove(place.buffer.get(), place.buffer.get() + place.begin, place.end - place.begin);
      place.end -= place.begin;
      place.begin = 0;
    }
    const std::size_t room = std::min(config_.buffer_bytes - place.end, kMostAtOnce);
    if (room == 0) return;  // until some is consumed
    error_code error;
    const std::size_t got =
        place.socket.read_some(asio::buffer(place.buffer.get() + place.end, room), error);
    place.end += got;
    place.received += got;
    if (got > 0) place.last_came = Clock::now();
    if (!error || error == asio::error::would_block || error == asio::error::interrupted) {
      read_when_ready(k);
      return;
    }
    place.connected = false;
    error_code ignored;
    place.socket.close(ignored);
    const bool closed = error == asio::error::eof;
    say(closed ? core::LogLevel::info : core::LogLevel::warning,
        fmt::format("sender {} of {} {} after {} bytes", k + 1, places_.size(),
                    closed ? "closed its connection" : "is gone (" + error.message() + ")",
                    place.received - place.received_before));
    if (is_free(place)) seat_waiting();
  }

  void say(core::LogLevel level, const std::string& text) const {
    if (config_.log) config_.log(level, text);
  }

  std::vector<Caller> waiting_;
};

TcpServer::TcpServer(TcpServerConfig config) : impl_(std::make_unique<Impl>(std::move(config))) {}
TcpServer::~TcpServer() = default;
std::vector<Endpoint> TcpServer::listening() const {
  return impl_->listening();
}
void TcpServer::wait(std::chrono::milliseconds most) {
  impl_->wait(most);
}
std::span<const std::byte> TcpServer::bytes(std::size_t place) const {
  const Impl::Place& at = *impl_->places_[place];
  return {at.buffer.get() + at.begin, at.end - at.begin};
}
void TcpServer::consume(std::size_t place, std::size_t count) {
  impl_->consume(place, count);
}
bool TcpServer::connected(std::size_t place) const {
  return impl_->places_[place]->connected;
}
std::uint64_t TcpServer::connections(std::size_t place) const {
  return impl_->places_[place]->connections;
}
std::uint64_t TcpServer::received_bytes(std::size_t place) const {
  return impl_->places_[place]->received;
}
std::uint64_t TcpServer::refused() const {
  return impl_->refused_;
}

class TcpClient::Impl {
 public:
  Impl(const Endpoint& to, std::chrono::milliseconds patience, std::stop_token stop)
      : to_(to), stop_(std::move(stop)) {
    const tcp::endpoint at = resolve(io_, "to", to);
    const auto until = std::chrono::steady_clock::now() + patience;
    for (;;) {
      const error_code error = try_to_connect(at, until);
      if (!error) break;
      require_no_stop();
      if (std::chrono::steady_clock::now() >= until)
        throw tcp_error("to", to, error, "start whoever is to receive it");
      std::this_thread::sleep_for(kTcpPatience);  // a timer's wait ends in an error by a signal
    }
    socket_.non_blocking(true);
  }

  void write(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      error_code error;
      const std::size_t done = socket_.write_some(asio::buffer(bytes.data(), bytes.size()), error);
      bytes = bytes.subspan(done);
      if (!error) continue;
      if (error != asio::error::would_block && error != asio::error::interrupted)
        throw tcp_error("to", to_, error, "the receiver has gone");
      wait_for_room();
    }
  }

 private:
  // One attempt: a host that does not answer would take minutes.
  error_code try_to_connect(const tcp::endpoint& at, std::chrono::steady_clock::time_point until) {
    std::optional<error_code> ended;
    socket_ = tcp::socket(io_);
    socket_.async_connect(at, [&ended](const error_code& error) { ended = error; });
    while (!ended) {
      io_.restart();
      io_.run_one_for(kTcpPatience);
      if (ended || (!stop_.stop_requested() && std::chrono::steady_clock::now() < until)) continue;
      error_code ignored;
      socket_.close(ignored);
      io_.restart();
      io_.run();  // `ended` is set here
      return asio::error::timed_out;
    }
    return *ended;
  }
  void require_no_stop() const {
    if (stop_.stop_requested())
      throw core::Error(core::ErrorKind::io, "run", "interrupted", "", "the rest was not sent");
  }
  void wait_for_room() {
    bool ready = false;
    socket_.async_wait(tcp::socket::wait_write, [&ready](const error_code&) { ready = true; });
    while (!ready) {
      io_.restart();
      io_.run_one_for(kTcpPatience);
      if (!ready && stop_.stop_requested()) {
        socket_.cancel();
        io_.restart();
        io_.run();  // `ready` ends here
      }
    }
    require_no_stop();
  }

  Endpoint to_;
  std::stop_token stop_;
  asio::io_context io_{1};
  tcp::socket socket_{io_};
};

TcpClient::TcpClient(const Endpoint& to, std::chrono::milliseconds patience, std::stop_token stop)
    : impl_(std::make_unique<Impl>(to, patience, std::move(stop))) {}
void TcpClient::write(std::span<const std::byte> bytes) {
  impl_->write(bytes);
}

#else

namespace {

[[noreturn]] void refuse_tcp(const char* field, const Endpoint& endpoint) {
  throw core::Error(core::ErrorKind::unsupported, field, to_string(endpoint),
                    "a build with Boost.Asio", "install libboost-dev and build again");
}

}  // namespace

class TcpServer::Impl {};
TcpServer::TcpServer(TcpServerConfig config) {
  refuse_tcp("listen", config.listen.empty() ? Endpoint{} : config.listen.front());
}
TcpServer::~TcpServer() = default;
std::vector<Endpoint> TcpServer::listening() const {
  return {};
}
void TcpServer::wait(std::chrono::milliseconds) {}
std::span<const std::byte> TcpServer::bytes(std::size_t) const {
  return {};
}
void TcpServer::consume(std::size_t, std::size_t) {}
bool TcpServer::connected(std::size_t) const {
  return false;
}
std::uint64_t TcpServer::connections(std::size_t) const {
  return 0;
}
std::uint64_t TcpServer::received_bytes(std::size_t) const {
  return 0;
}
std::uint64_t TcpServer::refused() const {
  return 0;
}

class TcpClient::Impl {};
TcpClient::TcpClient(const Endpoint& to, std::chrono::milliseconds, std::stop_token) {
  refuse_tcp("to", to);
}
void TcpClient::write(std::span<const std::byte>) {}

#endif

TcpClient::~TcpClient() = default;
TcpClient::TcpClient(TcpClient&&) noexcept = default;
TcpClient& TcpClient::operator=(TcpClient&&) noexcept = default;

}  // namespace tautline::stream

// Byte streams over TCP: a server for a fixed number of senders, and a client.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stop_token>
#include <vector>

#include "tautline/core/log.h"
#include "tautline/stream/endpoint.h"

namespace tautline::stream {

struct TcpServerConfig {
  /// One address for all senders, which get places in the order of their connections, or one for each place.
  std::vector<Endpoint> listen;
  std::size_t places = 1;
  /// Most bytes that each place keeps unconsumed; then the sender has to wait.
  std::size_t buffer_bytes = std::size_t{4} << 20;
  /// A sender whose machine does not answer for so long has gone: its cable was pulled, for instance.
  std::chrono::seconds silence{30};
  /// A sender that has sent nothing for so long may have gone without closing: another sender of its host may take its
  /// place.
  std::chrono::milliseconds doubt{1000};
  core::LogSink log = {};
};

/// Used by one thread; all work happens inside wait(). A sender that reconnects gets the free place that a sender of
/// its host had last, else the first free one. The place need not be free yet: where senders are of several hosts (or
/// have an address each), or no place is free, the sender takes over the place of another sender of its host that has
/// ended or may have gone, as soon as that one's bytes are consumed. A sender that finds no place is closed and
/// counted.
class TcpServer {
 public:
  /// Throws Error(io) where it cannot listen at an address, Error(unsupported) in a build without Boost.
  explicit TcpServer(TcpServerConfig config);
  ~TcpServer();
  TcpServer(const TcpServer&) = delete;
  TcpServer& operator=(const TcpServer&) = delete;

  /// The addresses with the ports that the system chose.
  std::vector<Endpoint> listening() const;

  /// Waits until bytes have come, a sender has come or gone, or `most` is over.
  void wait(std::chrono::milliseconds most);

  /// The unconsumed bytes of a place; valid until the next call of wait().
  std::span<const std::byte> bytes(std::size_t place) const;
  void consume(std::size_t place, std::size_t count);
  /// Whether more bytes may come. Bytes of a sender that has gone are still given.
  bool connected(std::size_t place) const;
  /// Number of senders that this place has had. A new sender gets the place when all bytes of its predecessor are
  /// consumed.
  std::uint64_t connections(std::size_t place) const;
  std::uint64_t received_bytes(std::size_t place) const;
  /// Senders that found no place.
  std::uint64_t refused() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// Not thread-safe.
class TcpClient {
 public:
  /// Tries to connect until a listener answers or `patience` is over. Throws Error(io), also "interrupted" after a
  /// stop.
  TcpClient(const Endpoint& to, std::chrono::milliseconds patience, std::stop_token stop = {});
  ~TcpClient();
  TcpClient(TcpClient&&) noexcept;
  TcpClient& operator=(TcpClient&&) noexcept;

  /// Sends all bytes. Throws Error(io) when the other side has gone, and after a stop.
  void write(std::span<const std::byte> bytes);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tautline::stream

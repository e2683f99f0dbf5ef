// Byte streams over TCP: a server for a fixed number of senders, and a client.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "tautline/core/log.h"
#include "tautline/stream/endpoint.h"

namespace tautline::stream {

struct TcpServerConfig {
  /// One address for all senders, which get places in the order in which they connect, or one for each place.
  std::vector<Endpoint> listen;
  std::size_t places = 1;
  /// That each place keeps of what has come and was not consumed; then the sender has to wait.
  std::size_t buffer_bytes = std::size_t{4} << 20;
  /// A sender whose machine answers nothing for so long has gone: its cable was pulled, say.
  std::chrono::seconds silence{30};
  /// A sender that has sent nothing for so long may have gone without a word: one of its host may take its place.
  std::chrono::milliseconds doubt{1000};
  core::LogSink log = {};
};

/// Used by one thread; everything happens inside wait(). A sender that comes back gets the free place that one of its
/// host had last, else the first free one. It need not be free yet: where senders are of several hosts (or have an
/// address each), or no place is free, the place of one of its host that has ended, or is in doubt, is given up for it as
/// soon as its bytes are consumed. One that finds no place is closed and counted.
class TcpServer {
 public:
  /// Throws Error(io) where an address cannot be listened at, Error(unsupported) in a build without Boost.
  explicit TcpServer(TcpServerConfig config);
  ~TcpServer();
  TcpServer(const TcpServer&) = delete;
  TcpServer& operator=(const TcpServer&) = delete;

  /// With the ports that the system chose.
  std::vector<Endpoint> listening() const;

  /// Until bytes have come, a sender has come or gone, or `most` is over.
  void wait(std::chrono::milliseconds most);

  /// What has come at a place and was not consumed; until the next call of wait().
  std::span<const std::byte> bytes(std::size_t place) const;
  void consume(std::size_t place, std::size_t count);
  /// Whether more may come. Bytes of a sender that has gone are given still.
  bool connected(std::size_t place) const;
  /// Senders that this place has had. A new one gets it when all bytes of the one before are consumed.
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
  /// Tries again and again until somebody listens or `patience` is over. Throws Error(io), also "interrupted" after a stop.
  TcpClient(const Endpoint& to, std::chrono::milliseconds patience, std::stop_token stop = {});
  ~TcpClient();
  TcpClient(TcpClient&&) noexcept;
  TcpClient& operator=(TcpClient&&) noexcept;

  /// All of it. Throws Error(io) when the other side has gone, and after a stop.
  void write(std::span<const std::byte> bytes);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tautline::stream

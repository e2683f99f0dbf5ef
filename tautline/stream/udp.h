// Packets over UDP: many with one system call, with a large buffer in the kernel.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tautline/core/log.h"
#include "tautline/stream/endpoint.h"

namespace tautline::stream {

struct UdpReceiverConfig {
  /// A packet carries the number of the address that it came at. Multicast groups are joined.
  std::vector<Endpoint> listen;
  /// Address of the network interface on which groups are joined; empty: the system chooses.
  std::string interface = {};
  /// Length of the largest packet; longer ones are cut and counted.
  std::size_t packet_bytes = 9216;
  /// Size of the kernel's buffer of each address. Where the system allows less, a warning names the setting.
  std::size_t buffer_bytes = std::size_t{64} << 20;
  core::LogSink log = {};
};

struct UdpCounters {
  std::uint64_t packets = 0, bytes = 0;  ///< packets delivered
  std::uint64_t cut = 0;                 ///< delivered packets longer than packet_bytes
  /// Packets that found the kernel's buffer full; an estimate where packets come joined.
  std::uint64_t kernel_drops = 0;
};

/// Used by one thread, except counters().
class UdpReceiver {
 public:
  using Packet = std::span<const std::byte>;
  /// Takes packets that came together at one address; their bytes are valid until it returns.
  using Take = std::function<void(std::span<const Packet> packets, std::size_t address)>;

  /// Throws Error(io) where it cannot listen at an address.
  explicit UdpReceiver(const UdpReceiverConfig& config);
  ~UdpReceiver();
  UdpReceiver(const UdpReceiver&) = delete;
  UdpReceiver& operator=(const UdpReceiver&) = delete;

  /// Receivers for several threads. Addresses are distributed among them; where there are fewer addresses than
  /// receivers, several receivers share one, and the system chooses one of them for each sender (by its address and
  /// port). Throws Error(config) where receivers would share a multicast group: each of them would get all of its
  /// packets.
  static std::vector<std::unique_ptr<UdpReceiver>> share(const UdpReceiverConfig& config,
                                                         std::size_t threads);

  /// The addresses of this receiver, in order, with the ports that the system chose.
  std::vector<Endpoint> listening() const;
  /// Size of the kernel's smallest buffer.
  std::size_t buffer_bytes() const;
  /// Delivers the packets that have come, at most some dozens from each address, or some dozens of messages into which
  /// the system has joined packets of one sender; waits for the first no longer than `most`. Returns the number of
  /// packets.
  std::size_t receive(std::chrono::milliseconds most, const Take& take);
  /// From any thread.
  UdpCounters counters() const;

 private:
  class Impl;
  explicit UdpReceiver(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// Not thread-safe.
class UdpSender {
 public:
  /// `interface`: address of the network interface for packets to a multicast group; empty: the system chooses. Throws
  /// Error(io).
  explicit UdpSender(const Endpoint& to, const std::string& interface = {});
  ~UdpSender();
  UdpSender(UdpSender&&) noexcept;
  UdpSender& operator=(UdpSender&&) noexcept;

  /// Sends the packet together with some dozens of others, at the latest with flush(). Throws Error(io); the absence of
  /// a listener is no error.
  void send(std::span<const std::byte> packet);
  void flush();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tautline::stream

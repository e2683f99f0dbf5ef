// Packets over UDP: many by one call of the system, with a large buffer in the kernel.
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
  /// A packet has the number of the address that it came at. An address of a multicast group is joined.
  std::vector<Endpoint> listen;
  /// Address of the network interface that groups are joined at; empty: the system chooses.
  std::string interface = {};
  std::size_t packet_bytes = 9216;  ///< of the largest packet; longer ones are cut and counted
  /// Of the kernel's buffer of each address. Where the system allows less, a warning names the setting.
  std::size_t buffer_bytes = std::size_t{64} << 20;
  core::LogSink log = {};
};

struct UdpCounters {
  std::uint64_t packets = 0, bytes = 0;  ///< that were given
  std::uint64_t cut = 0;                 ///< of these: longer than packet_bytes
  std::uint64_t kernel_drops =
      0;  ///< that found the kernel's buffer full; where packets come joined, about as many
};

/// Used by one thread, but for counters().
class UdpReceiver {
 public:
  using Packet = std::span<const std::byte>;
  /// Of packets that came together at one address; their bytes are there until it returns.
  using Take = std::function<void(std::span<const Packet> packets, std::size_t address)>;

  /// Throws Error(io) where an address cannot be listened at.
  explicit UdpReceiver(const UdpReceiverConfig& config);
  ~UdpReceiver();
  UdpReceiver(const UdpReceiver&) = delete;
  UdpReceiver& operator=(const UdpReceiver&) = delete;

  /// Receivers for several threads. Addresses are dealt out among them; where there are fewer, an address is that of several
  /// receivers, and the system chooses one of them for each sender (by its address and port). Throws Error(config) where
  /// a multicast group would be that of several: each of them would get all of its packets.
  static std::vector<std::unique_ptr<UdpReceiver>> share(const UdpReceiverConfig& config,
                                                         std::size_t threads);

  /// In the order of the addresses that this receiver has, with the ports that the system chose.
  std::vector<Endpoint> listening() const;
  /// What the kernel's smallest buffer may hold.
  std::size_t buffer_bytes() const;
  /// Gives what has come, at most some dozens of packets of each address, or of pieces that the system has joined packets
  /// of one sender to; waits for the first no longer than `most`. Their number.
  std::size_t receive(std::chrono::milliseconds most, const Take& take);
  /// By any thread.
  UdpCounters counters() const;

 private:
  class Impl;
  explicit UdpReceiver(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// Not thread-safe.
class UdpSender {
 public:
  /// `interface`: address of the network interface by which packets to a multicast group go; empty: the system chooses.
  /// Throws Error(io).
  explicit UdpSender(const Endpoint& to, const std::string& interface = {});
  ~UdpSender();
  UdpSender(UdpSender&&) noexcept;
  UdpSender& operator=(UdpSender&&) noexcept;

  /// Sends the packet with some dozens of others, at the latest with flush(). Throws Error(io); that nobody listens is no
  /// error.
  void send(std::span<const std::byte> packet);
  void flush();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tautline::stream

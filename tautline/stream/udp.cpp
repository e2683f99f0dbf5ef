#include "tautline/stream/udp.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

#include "tautline/core/error.h"

namespace tautline::stream {

namespace {

// Packets of one system call, whose cost is then small beside the copies.
constexpr std::size_t kPacketsAtOnce = 64;
// The longest datagram, also of several packets that come joined.
constexpr std::size_t kMessage_bytes = 65'536;
// Bytes of packets that are sent joined, which the system carries as one and splits where the receiver wants that:
// beside headers of 20 or 40 bytes and 8.
constexpr std::size_t kMostJoined_bytes = 65'400;
// Pause before the next call where fewer packets than that had come. A thread that waits in the system for each packet
// is woken for two or three at a time, which costs receiver and sender more than the packets do
// (docs/performance/notebook/capture.md). At 100 Gb/s less than 2 MB come meanwhile.
constexpr std::chrono::microseconds kBetweenBatches{50};

core::Error udp_error(const char* field, const Endpoint& endpoint, const std::string& why,
                      const std::string& advice) {
  return core::Error(core::ErrorKind::io, field, to_string(endpoint) + ": " + why, "", advice);
}

core::Error not_an_interface(const std::string& text) {
  return core::Error(core::ErrorKind::config, "interface", text,
                     "the IPv4 address of a network interface",
                     "the command ip address shows them");
}

int option_of(int descriptor, int option) {
  int value = 0;
  socklen_t bytes = sizeof value;
  ::getsockopt(descriptor, SOL_SOCKET, option, &value, &bytes);
  return value;
}

}  // namespace

// A socket and its address.
class UdpSocket {
 public:
  UdpSocket(const char* field, const Endpoint& endpoint) {
    addrinfo wanted{};
    wanted.ai_socktype = SOCK_DGRAM;
    addrinfo* found = nullptr;
    const int failed = ::getaddrinfo(endpoint.host.c_str(), std::to_string(endpoint.port).c_str(),
                                     &wanted, &found);
    if (failed != 0)
      throw udp_error(field, endpoint, ::gai_strerror(failed),
                      "name an address that this machine knows");
    std::memcpy(&address, found->ai_addr, found->ai_addrlen);
    address_bytes = found->ai_addrlen;
    descriptor = ::socket(found->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    ::freeaddrinfo(found);
    if (descriptor < 0) throw udp_error(field, endpoint, std::strerror(errno), "");
  }
  ~UdpSocket() { ::close(descriptor); }
  UdpSocket(const UdpSocket&) = delete;
  UdpSocket& operator=(const UdpSocket&) = delete;

  sockaddr* at() { return reinterpret_cast<sockaddr*>(&address); }
  const sockaddr* at() const { return reinterpret_cast<const sockaddr*>(&address); }

  int descriptor = -1;
  sockaddr_storage address{};
  socklen_t address_bytes = 0;
};

// A listening socket, and the number of packets that the kernel says it dropped there.
class ListeningSocket {
 public:
  // `number`: of the address. `sibling`: a socket of this process that listens there already.
  ListeningSocket(const Endpoint& listen, std::size_t number, const UdpReceiverConfig& config,
                  const ListeningSocket* sibling = nullptr)
      : number_(number), listen_(listen), socket_("listen", listen) {
    const bool group = is_group();
    int on = 1;
    // A multicast group may have several listeners on one machine.
    if (group) ::setsockopt(socket_.descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    // Not for the first socket at an address: that another program has the port must be an error.
    if (sibling != nullptr) {
      ::setsockopt(sibling->descriptor(), SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
      ::setsockopt(socket_.descriptor, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
    }
    if (::bind(socket_.descriptor, socket_.at(), socket_.address_bytes) != 0)
      throw udp_error("listen", listen_, std::strerror(errno),
                      "choose another port, or port 0 for one that is free");
    if (group) join(config.interface);
    ::setsockopt(socket_.descriptor, SOL_SOCKET, SO_RXQ_OVFL, &on, sizeof on);
    // Packets of one sender may come joined. Older systems do not have this option, and join none.
    ::setsockopt(socket_.descriptor, SOL_UDP, UDP_GRO, &on, sizeof on);
    enlarge_buffer(config);
  }

  int descriptor() const { return socket_.descriptor; }
  std::size_t number() const { return number_; }
  bool is_group() const {
    return socket_.address.ss_family == AF_INET &&
           IN_MULTICAST(ntohl(reinterpret_cast<const sockaddr_in*>(socket_.at())->sin_addr.s_addr));
  }
  const Endpoint& endpoint() const { return listen_; }
  Endpoint listening() const {
    sockaddr_storage address{};
    socklen_t bytes = sizeof address;
    ::getsockname(socket_.descriptor, reinterpret_cast<sockaddr*>(&address), &bytes);
    Endpoint endpoint = listen_;
    endpoint.port = ntohs(address.ss_family == AF_INET6
                              ? reinterpret_cast<const sockaddr_in6*>(&address)->sin6_port
                              : reinterpret_cast<const sockaddr_in*>(&address)->sin_port);
    return endpoint;
  }
  // The kernel doubles the requested size: a packet takes more memory than its bytes.
  std::size_t buffer_bytes() const {
    return static_cast<std::size_t>(option_of(socket_.descriptor, SO_RCVBUF)) / 2;
  }
  // Control data of a message: the number of messages dropped before it (of all so far, modulo 2^32), and the length of
  // each packet where the message holds several; 0: it is one packet.
  struct Notes {
    std::uint64_t drops = 0;
    std::size_t packet_bytes = 0;
  };
  Notes notes_of(msghdr& message) {
    Notes notes;
    for (cmsghdr* note = CMSG_FIRSTHDR(&message); note != nullptr;
         note = CMSG_NXTHDR(&message, note)) {
      if (note->cmsg_level == SOL_SOCKET && note->cmsg_type == SO_RXQ_OVFL) {
        std::uint32_t all = 0;
        std::memcpy(&all, CMSG_DATA(note), sizeof all);
        notes.drops += static_cast<std::uint32_t>(all - drops_);
        drops_ = all;
      }
      if (note->cmsg_level == SOL_UDP && note->cmsg_type == UDP_GRO) {
        int bytes = 0;
        std::memcpy(&bytes, CMSG_DATA(note), sizeof bytes);
        notes.packet_bytes = static_cast<std::size_t>(std::max(bytes, 0));
      }
    }
    return notes;
  }
  // The system counts dropped messages. The number of packets in these is unknown: it is taken to be that of the
  // messages delivered since the system last dropped some.
  std::uint64_t packets_of(std::uint64_t dropped_messages, std::size_t packets) {
    const double each = messages_ > 0
                            ? static_cast<double>(packets_) / static_cast<double>(messages_)
                            : static_cast<double>(packets);
    if (dropped_messages > 0) messages_ = packets_ = 0;
    ++messages_;
    packets_ += packets;
    return static_cast<std::uint64_t>(std::llround(static_cast<double>(dropped_messages) * each));
  }

 private:
  void join(const std::string& interface) {
    ip_mreq membership{};
    membership.imr_multiaddr = reinterpret_cast<const sockaddr_in*>(socket_.at())->sin_addr;
    if (!interface.empty() &&
        ::inet_pton(AF_INET, interface.c_str(), &membership.imr_interface) != 1)
      throw not_an_interface(interface);
    if (::setsockopt(socket_.descriptor, IPPROTO_IP, IP_ADD_MEMBERSHIP, &membership,
                     sizeof membership) != 0)
      throw udp_error(
          "listen", listen_, std::strerror(errno),
          "give `interface`, the address of the network interface that the group comes by");
  }

  void enlarge_buffer(const UdpReceiverConfig& config) {
    const int wanted = static_cast<int>(std::min<std::size_t>(config.buffer_bytes, INT32_MAX / 2));
    // The second option is for processes that may exceed the limit.
    ::setsockopt(socket_.descriptor, SOL_SOCKET, SO_RCVBUF, &wanted, sizeof wanted);
    if (buffer_bytes() < static_cast<std::size_t>(wanted))
      ::setsockopt(socket_.descriptor, SOL_SOCKET, SO_RCVBUFFORCE, &wanted, sizeof wanted);
    if (buffer_bytes() < static_cast<std::size_t>(wanted) && config.log)
      config.log(core::LogLevel::warning,
                 fmt::format("the system gives {} a receive buffer of {} KiB, and packets are lost "
                             "when it is full: sysctl -w net.core.rmem_max={}",
                             to_string(listen_), buffer_bytes() >> 10, wanted));
  }

  std::size_t number_;
  Endpoint listen_;
  UdpSocket socket_;
  std::uint32_t drops_ = 0;
  std::uint64_t messages_ = 0, packets_ = 0;  // delivered since the system last dropped some
};

using ListeningSockets = std::vector<std::unique_ptr<ListeningSocket>>;

namespace {

ListeningSockets listen_at_all(const UdpReceiverConfig& config) {
  ListeningSockets sockets;
  for (const Endpoint& listen : config.listen)
    sockets.push_back(std::make_unique<ListeningSocket>(listen, sockets.size(), config));
  return sockets;
}

}  // namespace

// A counter with one writer, read by others.
class SharedCount {
 public:
  void operator+=(std::uint64_t more) { count_.store(get() + more, std::memory_order_relaxed); }
  std::uint64_t get() const { return count_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> count_{0};
};

class UdpReceiver::Impl {
 public:
  Impl(ListeningSockets sockets, const UdpReceiverConfig& config)
      : sockets_(std::move(sockets)),
        packet_bytes_(config.packet_bytes),
        memory_(std::make_unique_for_overwrite<std::byte[]>(kPacketsAtOnce * kMessage_bytes)) {
    for (const auto& socket : sockets_) polled_.push_back({socket->descriptor(), POLLIN, 0});
    for (std::size_t k = 0; k < kPacketsAtOnce; ++k)
      pieces_[k] = {memory_.get() + k * kMessage_bytes, kMessage_bytes};
  }

  std::vector<Endpoint> listening() const {
    std::vector<Endpoint> all;
    for (const auto& socket : sockets_) all.push_back(socket->listening());
    return all;
  }

  std::size_t buffer_bytes() const {
    std::size_t least = SIZE_MAX;
    for (const auto& socket : sockets_) least = std::min(least, socket->buffer_bytes());
    return least;
  }

  std::size_t receive(std::chrono::milliseconds most, const Take& take) {
    if (few_came_ && most.count() > 0) std::this_thread::sleep_for(kBetweenBatches);
    few_came_ = false;
    const std::size_t waiting = receive_waiting(take);
    if (waiting > 0) return waiting;
    if (::poll(polled_.data(), polled_.size(), static_cast<int>(most.count())) <= 0) return 0;
    return receive_waiting(take);
  }

  UdpCounters counters() const {
    return {packets_.get(), bytes_.get(), cut_.get(), kernel_drops_.get()};
  }

 private:
  std::size_t receive_waiting(const Take& take) {
    few_came_ = true;
    std::size_t count = 0;
    for (const auto& socket : sockets_) count += receive_at(*socket, take);
    few_came_ = few_came_ && count > 0;
    return count;
  }

  std::size_t receive_at(ListeningSocket& socket, const Take& take) {
    for (std::size_t k = 0; k < kPacketsAtOnce; ++k) {
      messages_[k] = {};
      messages_[k].msg_hdr.msg_iov = &pieces_[k];
      messages_[k].msg_hdr.msg_iovlen = 1;
      messages_[k].msg_hdr.msg_control = notes_[k].data();
      messages_[k].msg_hdr.msg_controllen = notes_[k].size();
    }
    const int got =
        ::recvmmsg(socket.descriptor(), messages_.data(), kPacketsAtOnce, MSG_DONTWAIT, nullptr);
    if (got < 0) {
      if (errno == EAGAIN || errno == EINTR || errno == ECONNREFUSED) return 0;
      throw udp_error("listen", socket.endpoint(), std::strerror(errno), "");
    }
    const auto count = static_cast<std::size_t>(got);
    if (count == 0) return 0;
    if (count == kPacketsAtOnce) few_came_ = false;
    received_.clear();
    for (std::size_t k = 0; k < count; ++k) add_packets(socket, messages_[k], pieces_[k]);
    packets_ += received_.size();
    take(received_, socket.number());
    return received_.size();
  }

  // Delivers the packets of a message, each cut to the largest length.
  void add_packets(ListeningSocket& socket, mmsghdr& message, const iovec& piece) {
    const ListeningSocket::Notes notes = socket.notes_of(message.msg_hdr);
    const std::span all(static_cast<const std::byte*>(piece.iov_base), message.msg_len);
    const std::size_t each = notes.packet_bytes > 0 ? notes.packet_bytes : all.size();
    const std::size_t before = received_.size();
    std::size_t at = 0;
    do {  // a packet may be empty
      const Packet packet = all.subspan(at, std::min(each, all.size() - at));
      received_.push_back(packet.first(std::min(packet.size(), packet_bytes_)));
      cut_ += packet.size() > packet_bytes_ ? 1 : 0;
      bytes_ += received_.back().size();
      at += each;
    } while (at < all.size());
    kernel_drops_ += socket.packets_of(notes.drops, received_.size() - before);
  }

  struct alignas(cmsghdr) Note
      : std::array<std::byte, CMSG_SPACE(sizeof(std::uint32_t)) + CMSG_SPACE(sizeof(int))> {};

  ListeningSockets sockets_;
  std::vector<pollfd> polled_;
  std::size_t packet_bytes_;
  std::unique_ptr<std::byte[]> memory_;
  std::array<iovec, kPacketsAtOnce> pieces_{};
  std::array<mmsghdr, kPacketsAtOnce> messages_{};
  std::array<Note, kPacketsAtOnce> notes_{};
  std::vector<Packet> received_;  // of the last system call
  bool few_came_ = false;         // in the last call
  SharedCount packets_, bytes_, cut_, kernel_drops_;
};

UdpReceiver::UdpReceiver(const UdpReceiverConfig& config)
    : impl_(std::make_unique<Impl>(listen_at_all(config), config)) {}
UdpReceiver::UdpReceiver(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

std::vector<std::unique_ptr<UdpReceiver>> UdpReceiver::share(const UdpReceiverConfig& config,
                                                             std::size_t threads) {
  ListeningSockets all = listen_at_all(config);
  const std::size_t addresses = all.size();
  for (std::size_t k = addresses; k < threads; ++k) {
    const ListeningSocket& sibling = *all[k % addresses];
    if (sibling.is_group())
      throw core::Error(core::ErrorKind::config, "threads", std::to_string(threads),
                        fmt::format("no more than the {} addresses", addresses),
                        "the sockets of a multicast group each get all of its packets");
    all.push_back(
        std::make_unique<ListeningSocket>(sibling.listening(), sibling.number(), config, &sibling));
  }
  std::vector<ListeningSockets> dealt(threads);
  for (std::size_t k = 0; k < all.size(); ++k) dealt[k % threads].push_back(std::move(all[k]));
  std::vector<std::unique_ptr<UdpReceiver>> receivers;
  for (ListeningSockets& sockets : dealt)
    receivers.emplace_back(new UdpReceiver(std::make_unique<Impl>(std::move(sockets), config)));
  return receivers;
}

UdpReceiver::~UdpReceiver() = default;
std::vector<Endpoint> UdpReceiver::listening() const {
  return impl_->listening();
}
std::size_t UdpReceiver::buffer_bytes() const {
  return impl_->buffer_bytes();
}
std::size_t UdpReceiver::receive(std::chrono::milliseconds most, const Take& take) {
  return impl_->receive(most, take);
}
UdpCounters UdpReceiver::counters() const {
  return impl_->counters();
}

class UdpSender::Impl {
 public:
  Impl(const Endpoint& to, const std::string& interface) : to_(to), socket_("to", to) {
    if (in_addr by{}; !interface.empty()) {
      if (::inet_pton(AF_INET, interface.c_str(), &by) != 1) throw not_an_interface(interface);
      ::setsockopt(socket_.descriptor, IPPROTO_IP, IP_MULTICAST_IF, &by, sizeof by);
    }
    if (::connect(socket_.descriptor, socket_.at(), socket_.address_bytes) != 0)
      throw udp_error("to", to, std::strerror(errno), "name an address that can be reached");
  }

  void send(std::span<const std::byte> packet) {
    bytes_.insert(bytes_.end(), packet.begin(), packet.end());
    lengths_[waiting_++] = packet.size();
    if (waiting_ == kPacketsAtOnce) flush();
  }

  void flush() {
    for (std::size_t packet = 0, at = 0; packet < waiting_;) {
      const std::size_t messages = make_messages(packet, at);
      const int some =
          ::sendmmsg(socket_.descriptor, messages_.data(), static_cast<unsigned>(messages), 0);
      if (some > 0) {
        for (std::size_t k = 0; k < static_cast<std::size_t>(some); ++k)
          packet += joined_[k], at += pieces_[k].iov_len;
      } else if (joins_ && errno != EINTR && errno != ECONNREFUSED) {
        joins_ = false;  // this route cannot: packets are longer than its frames, for instance
      } else if (errno != EINTR && errno != ECONNREFUSED) {
        // An error refers to an earlier packet, and is ignored: the packet is sent again.
        const std::string why = std::strerror(errno);
        clear();
        throw udp_error("to", to_, why, "check the address, and that packets are not too long");
      }
    }
    clear();
  }

 private:
  struct alignas(cmsghdr) Length : std::array<std::byte, CMSG_SPACE(sizeof(std::uint16_t))> {};

  // Whether this system takes several packets of one length as one message.
  static bool can_join(int descriptor) {
    const int wanted = 1000, none = 0;
    int set = 0;
    socklen_t bytes = sizeof set;
    ::setsockopt(descriptor, SOL_UDP, UDP_SEGMENT, &wanted, sizeof wanted);
    ::getsockopt(descriptor, SOL_UDP, UDP_SEGMENT, &set, &bytes);
    ::setsockopt(descriptor, SOL_UDP, UDP_SEGMENT, &none, sizeof none);
    return set == wanted;
  }

  // Joins the waiting packets from `packet` on, which begin at byte `at`.
  std::size_t make_messages(std::size_t packet, std::size_t at) {
    std::size_t count = 0;
    for (; packet < waiting_; packet += joined_[count], ++count) {
      std::size_t bytes = lengths_[packet];
      std::size_t& joined = joined_[count] = 1;
      const std::size_t each = bytes;
      // All of one length, except for a shorter last one.
      for (std::size_t next = packet + 1; joins_ && next < waiting_; ++next) {
        const std::size_t more = lengths_[next];
        if (lengths_[next - 1] != each || more == 0 || more > each ||
            bytes + more > kMostJoined_bytes)
          break;
        bytes += more;
        ++joined;
      }
      pieces_[count] = {bytes_.data() + at, bytes};
      at += bytes;
      messages_[count] = {};
      msghdr& message = messages_[count].msg_hdr;
      message.msg_iov = &pieces_[count];
      message.msg_iovlen = 1;
      if (joined > 1) say_length(message, count, static_cast<std::uint16_t>(each));
    }
    return count;
  }

  void say_length(msghdr& message, std::size_t count, std::uint16_t each) {
    message.msg_control = said_[count].data();
    message.msg_controllen = said_[count].size();
    cmsghdr* const note = CMSG_FIRSTHDR(&message);
    note->cmsg_level = SOL_UDP;
    note->cmsg_type = UDP_SEGMENT;
    note->cmsg_len = CMSG_LEN(sizeof each);
    std::memcpy(CMSG_DATA(note), &each, sizeof each);
  }

  void clear() {
    waiting_ = 0;
    bytes_.clear();
  }

  Endpoint to_;
  UdpSocket socket_;
  bool joins_ = can_join(socket_.descriptor);
  std::vector<std::byte> bytes_;  // of the waiting packets, contiguous
  std::array<std::size_t, kPacketsAtOnce> lengths_{};
  std::size_t waiting_ = 0;
  // Messages of one system call.
  std::array<std::size_t, kPacketsAtOnce> joined_{};  // packets of each message
  std::array<iovec, kPacketsAtOnce> pieces_{};
  std::array<mmsghdr, kPacketsAtOnce> messages_{};
  std::array<Length, kPacketsAtOnce> said_{};
};

UdpSender::UdpSender(const Endpoint& to, const std::string& interface)
    : impl_(std::make_unique<Impl>(to, interface)) {}
UdpSender::~UdpSender() = default;
UdpSender::UdpSender(UdpSender&&) noexcept = default;
UdpSender& UdpSender::operator=(UdpSender&&) noexcept = default;
void UdpSender::send(std::span<const std::byte> packet) {
  impl_->send(packet);
}
void UdpSender::flush() {
  impl_->flush();
}

}  // namespace tautline::stream

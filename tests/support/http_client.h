// A client of the monitor's HTTP server that can do what a browser would not, and the frames of its WebSocket.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tautline::tests {

class HttpClient {
 public:
  explicit HttpClient(std::uint16_t port, int receive_bytes = 0)
      : socket_(socket(AF_INET, SOCK_STREAM, 0)) {
    const timeval patience{20, 0};
    setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    if (receive_bytes > 0)
      setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &receive_bytes, sizeof receive_bytes);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = connect(socket_, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0;
  }
  ~HttpClient() { close(socket_); }
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  /// Whether all of it was sent.
  bool say(std::string_view text) {
    while (!text.empty()) {
      const ssize_t sent = send(socket_, text.data(), text.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      text.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }
  /// What comes until the server closes, or the text is in it.
  std::string hear(std::string_view until = {}) {
    std::string heard;
    char some[65536];
    while (until.empty() || heard.find(until) == std::string::npos) {
      const ssize_t bytes = recv(socket_, some, sizeof some, 0);
      if (bytes <= 0) break;
      heard.append(some, static_cast<std::size_t>(bytes));
    }
    return heard;
  }
  bool connected() const { return connected_; }

 private:
  int socket_;
  bool connected_ = false;
};

inline constexpr const char* kUpgrade =
    "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: "
    "dGhlIHNhbXBsZSBub25jZQ==\r\n";

/// The payload of the frames that a server sends, of those that came whole.
inline std::vector<std::string> messages_in(std::string_view frames) {
  std::vector<std::string> found;
  while (frames.size() >= 2) {
    const auto byte = [&](std::size_t k) {
      return static_cast<std::size_t>(static_cast<unsigned char>(frames[k]));
    };
    std::size_t head = 2, length = byte(1) & 127;
    if (length == 126 || length == 127) {
      const std::size_t more = length == 126 ? 2 : 8;
      if (frames.size() < head + more) break;
      length = 0;
      for (std::size_t k = 0; k < more; ++k) length = length << 8 | byte(2 + k);
      head += more;
    }
    if (frames.size() < head + length) break;
    if ((byte(0) & 15) == 1) found.emplace_back(frames.substr(head, length));
    frames.remove_prefix(head + length);
  }
  return found;
}

}  // namespace tautline::tests

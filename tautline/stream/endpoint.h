// Network addresses to listen at or to send to: tcp://HOST:PORT or udp://HOST:PORT.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tautline::stream {

struct HostPort {
  std::string host;  ///< a name or an address; IPv6 without its brackets
  std::uint16_t port = 0;
};
/// "HOST:PORT", an IPv6 address in brackets; none if the text is of another form.
std::optional<HostPort> parse_host_port(std::string_view text);

struct Endpoint {
  enum class Transport { tcp, udp };
  Transport transport = Transport::tcp;
  std::string host;        ///< a name or an address; IPv6 without its brackets
  std::uint16_t port = 0;  ///< 0: a listener's port that the system chooses
};

/// Throws Error(config) with the field's name: "listen".
Endpoint parse_endpoint(const std::string& field, const std::string& text);
std::string to_string(const Endpoint& endpoint);

}  // namespace tautline::stream

#include "tautline/stream/endpoint.h"

#include <charconv>

#include "tautline/core/error.h"

namespace tautline::stream {

namespace {

constexpr const char* kEndpointForm = "tcp://HOST:PORT or udp://HOST:PORT";

}  // namespace

std::optional<HostPort> parse_host_port(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return {};
  std::string_view host = text.substr(0, colon);
  const std::string_view digits = text.substr(colon + 1);
  const bool brackets = host.front() == '[' && host.back() == ']';
  if (brackets) host = host.substr(1, host.size() - 2);
  HostPort place{std::string(host), 0};
  const char* const last = digits.data() + digits.size();
  const auto [end, error] = std::from_chars(digits.data(), last, place.port);
  const bool plain = host.find_first_of("[]/ ") == std::string_view::npos &&
                     (brackets || host.find(':') == std::string_view::npos);
  if (error != std::errc() || end != last || host.empty() || !plain) return {};
  return place;
}

Endpoint parse_endpoint(const std::string& field, const std::string& text) {
  const auto refuse = [&] {
    return core::Error(core::ErrorKind::config, field, text, kEndpointForm,
                       "for this machine alone, HOST is 127.0.0.1");
  };
  Endpoint endpoint;
  if (text.starts_with("tcp://"))
    endpoint.transport = Endpoint::Transport::tcp;
  else if (text.starts_with("udp://"))
    endpoint.transport = Endpoint::Transport::udp;
  else
    throw refuse();
  const auto place = parse_host_port(std::string_view(text).substr(6));
  if (!place) throw refuse();
  endpoint.host = place->host;
  endpoint.port = place->port;
  return endpoint;
}

std::string to_string(const Endpoint& endpoint) {
  const bool brackets = endpoint.host.find(':') != std::string::npos;
  return std::string(endpoint.transport == Endpoint::Transport::tcp ? "tcp://" : "udp://") +
         (brackets ? "[" + endpoint.host + "]" : endpoint.host) + ":" +
         std::to_string(endpoint.port);
}

}  // namespace tautline::stream

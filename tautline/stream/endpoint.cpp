#include "tautline/stream/endpoint.h"

#include <charconv>

#include "tautline/core/error.h"

namespace tautline::stream {

namespace {

constexpr const char* kEndpointForm = "tcp://HOST:PORT or udp://HOST:PORT";

}  // namespace

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
  const std::string place = text.substr(6);
  const std::size_t colon = place.rfind(':');
  if (colon == std::string::npos || colon == 0) throw refuse();
  endpoint.host = place.substr(0, colon);
  const bool brackets = endpoint.host.front() == '[' && endpoint.host.back() == ']';
  if (brackets) endpoint.host = endpoint.host.substr(1, endpoint.host.size() - 2);
  const char *first = text.data() + text.size() - (place.size() - colon - 1),
             *last = text.data() + text.size();
  const auto [end, error] = std::from_chars(first, last, endpoint.port);
  const bool plain = endpoint.host.find_first_of("[]/ ") == std::string::npos &&
                     (brackets || endpoint.host.find(':') == std::string::npos);
  if (error != std::errc() || end != last || first == last || endpoint.host.empty() || !plain)
    throw refuse();
  return endpoint;
}

std::string to_string(const Endpoint& endpoint) {
  const bool brackets = endpoint.host.find(':') != std::string::npos;
  return std::string(endpoint.transport == Endpoint::Transport::tcp ? "tcp://" : "udp://") +
         (brackets ? "[" + endpoint.host + "]" : endpoint.host) + ":" +
         std::to_string(endpoint.port);
}

}  // namespace tautline::stream

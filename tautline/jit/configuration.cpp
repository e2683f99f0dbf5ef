#include "tautline/jit/configuration.h"

#include <algorithm>
#include <charconv>

#include "tautline/core/error.h"

namespace tautline::jit {

Configuration parse_configuration(const std::string& option, const std::string& text) {
  Configuration configuration;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    const std::string pair = text.substr(at, comma - at);
    const std::size_t equals = pair.find('=');
    const char* end = pair.data() + pair.size();
    std::int64_t value = 0;
    if (equals == std::string::npos || equals == 0 || equals + 1 == pair.size() ||
        std::from_chars(pair.data() + equals + 1, end, value).ptr != end)
      throw core::Error(core::ErrorKind::config, option, pair, "NAME=NUMBER,NAME=NUMBER");
    configuration[pair.substr(0, equals)] = value;
    at = comma + 1;
  }
  return configuration;
}

}  // namespace tautline::jit

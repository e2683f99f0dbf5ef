#include "tautline/pipeline/search/empty_found.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace tautline::pipeline {

nlohmann::ordered_json empty_stretches(const EmptyFound& found, std::size_t most) {
  auto list = nlohmann::ordered_json::array();
  for (std::size_t k = 0; k < std::min(most, found.list.size()); ++k)
    list.push_back({{"beam", found.list[k].beam},
                    {"first_sample", found.list[k].first_sample},
                    {"samples", found.list[k].samples}});
  return list;
}

nlohmann::ordered_json empty_channels(const EmptyFound& found) {
  auto list = nlohmann::ordered_json::array();
  for (std::size_t c = 0; c < found.channels.size(); ++c)
    if (found.channels[c] > 0) list.push_back({{"channel", c}, {"samples", found.channels[c]}});
  return list;
}

std::string empty_channels_text(const EmptyFound& found) {
  constexpr std::size_t kNamed = 8;
  std::string text;
  std::size_t named = 0;
  for (std::size_t c = 0; c < found.channels.size(); ++c) {
    if (found.channels[c] == 0) continue;
    if (named == kNamed) return text + " ...";
    text +=
        fmt::format("{}channel {} for {} samples", named++ > 0 ? ", " : "", c, found.channels[c]);
  }
  return text;
}

}  // namespace tautline::pipeline

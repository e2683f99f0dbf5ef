#include "tautline/pipeline/voltages/clipped_channels.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "tautline/core/few_digits.h"
#include "tautline/pipeline/voltages/empty_text.h"

namespace tautline::pipeline {

namespace {

constexpr std::size_t kNamedGroups = 4, kNamedChannels = 8;

// Channels of the same inputs.
struct Group {
  std::vector<std::size_t> channels, inputs;
  double share = 0;  // the largest
};

std::vector<Group> groups_of(const std::vector<ClippedChannel>& found) {
  std::map<std::size_t, Group> by_channel;
  for (const ClippedChannel& one : found) {
    Group& group = by_channel[one.channel];
    group.inputs.push_back(one.input);
    group.share = std::max(group.share, one.share);
  }
  std::map<std::vector<std::size_t>, Group> by_inputs;
  for (const auto& [channel, of] : by_channel) {
    Group& group = by_inputs[of.inputs];
    group.inputs = of.inputs;
    group.channels.push_back(channel);
    group.share = std::max(group.share, of.share);
  }
  std::vector<Group> groups;
  for (const auto& [inputs, group] : by_inputs) groups.push_back(group);
  std::ranges::stable_sort(groups, std::greater(), &Group::share);
  return groups;
}

std::string name_channels(const std::vector<std::size_t>& channels, std::size_t all) {
  if (all > 1 && channels.size() == all) return "all channels";
  std::string text = channels.size() == 1 ? "channel" : "channels";
  for (std::size_t k = 0; k < std::min(channels.size(), kNamedChannels); ++k)
    text += fmt::format("{} {}", k > 0 ? "," : "", channels[k]);
  if (channels.size() > kNamedChannels)
    text += fmt::format(" and {} more", channels.size() - kNamedChannels);
  return text;
}

}  // namespace

std::string ClippedChannels::text(const std::vector<std::string>& input_names) const {
  if (found.empty()) return {};
  std::string text;
  std::size_t named = 0;
  for (const Group& group : groups_of(found)) {
    if (named++ == kNamedGroups) {
      text += " ...";
      break;
    }
    text +=
        fmt::format("{}{} of {} ({}{} %)", text.empty() ? "" : "; ",
                    name_channels(group.channels, channels), name_inputs(group.inputs, input_names),
                    group.channels.size() * group.inputs.size() > 1 ? "up to " : "",
                    core::few_digits(100 * group.share));
  }
  return fmt::format(
      "rounding to {} bits clipped so many values that the power is too low, in {} ({}): "
      "{}`requantise` off does not round{}",
      bits, text,
      part < 1 ? fmt::format("looked at: 1 of {} spectra", core::few_digits(1 / part))
               : "all spectra looked at",
      bits < 8 ? "`requantise` 8 clips less, " : "",
      !correlates ? ""
      : follows   ? ", lower `gains` leave room for signals that come and go"
                  : ", lower `gains` leave room for signals that come and go, and `settle_s` "
                    "measures gains again where a level has changed");
}

nlohmann::ordered_json ClippedChannels::json(std::size_t most) const {
  auto list = nlohmann::ordered_json::array();
  for (std::size_t k = 0; k < std::min(most, found.size()); ++k)
    list.push_back(
        {{"channel", found[k].channel}, {"input", found[k].input}, {"share", found[k].share}});
  return list;
}

}  // namespace tautline::pipeline

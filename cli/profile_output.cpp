#include "cli/profile_output.h"

#include <fmt/format.h>

#include <cstdio>

namespace tautline::cli {

void add_profile(nlohmann::ordered_json& summary, const engine::Profile& profile) {
  nlohmann::ordered_json nodes = nlohmann::ordered_json::array();
  for (const engine::NodeProfile& node : profile.nodes)
    nodes.push_back({{"node", node.node},
                     {"lane", node.lane},
                     {"busy_s", node.busy_s},
                     {"device_s", node.device_s},
                     {"waiting_for_input_s", node.waiting_for_input_s},
                     {"waiting_for_room_s", node.waiting_for_room_s},
                     {"waiting_for_device_s", node.waiting_for_device_s},
                     {"blocks", node.blocks},
                     {"bytes", node.bytes},
                     {"dropped_blocks", node.dropped}});
  summary["profile"] = std::move(nodes);
  summary["bound_by"] = profile.bound_by;
  summary["efficiency"] = profile.efficiency;
}

void print_profile(const Global& global, const engine::Profile& profile) {
  if (global.profile) fmt::print(stderr, "{}", engine::to_text(profile));
}

}  // namespace tautline::cli

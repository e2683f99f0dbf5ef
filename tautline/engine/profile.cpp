#include "tautline/engine/profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace tautline::engine {

void conclude(Profile& profile) {
  std::map<std::string, double> busy;
  for (const NodeProfile& node : profile.nodes) busy[node.lane] += node.busy_s;
  double most = 0;
  std::string lane;
  for (const auto& [name, seconds] : busy)
    if (seconds > most) {
      most = seconds;
      lane = name;
    }
  profile.efficiency = profile.run_s > 0 ? most / profile.run_s : 0;
  double longest = -1;
  for (const NodeProfile& node : profile.nodes)
    if (node.lane == lane && node.busy_s > longest) {
      longest = node.busy_s;
      profile.bound_by = node.node;
    }
}

std::string to_text(const Profile& profile) {
  std::size_t width = 4;
  for (const NodeProfile& node : profile.nodes) width = std::max(width, node.node.size());
  std::string text = fmt::format("{:<{}}  {:>8}  {:>13}  {:>12}  {:>10}  {:>9}\n", "node", width,
                                 "busy", "waits (input)", "waits (room)", "GB", "GB/s");
  for (const NodeProfile& node : profile.nodes) {
    const double gigabytes = static_cast<double>(node.bytes) / 1e9;
    text +=
        fmt::format("{:<{}}  {:>6.3f} s  {:>11.3f} s  {:>10.3f} s  {:>10.3f}  {:>9.2f}", node.node,
                    width, node.busy_s, node.waiting_for_input_s, node.waiting_for_room_s,
                    gigabytes, node.busy_s > 0 ? gigabytes / node.busy_s : 0);
    if (node.dropped > 0) text += fmt::format("  {} blocks dropped", node.dropped);
    text += '\n';
  }
  text += fmt::format("bound by {}: its thread worked {:.0f} % of {:.3f} s\n", profile.bound_by,
                      100 * profile.efficiency, profile.run_s);
  return text;
}

}  // namespace tautline::engine

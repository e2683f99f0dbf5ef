#include "tautline/engine/profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "tautline/engine/snapshot.h"

namespace tautline::engine {

namespace {

using Time = double NodeProfile::*;

struct Busiest {
  double seconds = 0;
  std::string lane;
  Time time = &NodeProfile::busy_s;
};

// Of all lanes' threads and devices, which work side by side, the one that worked longest.
Busiest busiest_of(const Profile& profile) {
  Busiest most;
  for (const Time time : {&NodeProfile::busy_s, &NodeProfile::device_s}) {
    std::map<std::string, double> seconds;
    for (const NodeProfile& node : profile.nodes) seconds[node.lane] += node.*time;
    for (const auto& [lane, sum] : seconds)
      if (sum > most.seconds) most = {sum, lane, time};
  }
  return most;
}

}  // namespace

std::string to_string(Activity activity) {
  switch (activity) {
    case Activity::starting:
      return "starting";
    case Activity::working:
      return "working";
    case Activity::waiting_for_input:
      return "waiting for input";
    case Activity::waiting_for_room:
      return "waiting for room";
    case Activity::waiting_for_device:
      return "waiting for device";
    case Activity::finished:
      break;
  }
  return "finished";
}

void conclude(Profile& profile) {
  const Busiest most = busiest_of(profile);
  profile.efficiency = profile.run_s > 0 ? most.seconds / profile.run_s : 0;
  double longest = -1;
  for (const NodeProfile& node : profile.nodes)
    if (node.lane == most.lane && node.*most.time > longest) {
      longest = node.*most.time;
      profile.bound_by = node.node;
    }
}

std::string to_text(const Profile& profile) {
  std::size_t width = 4;
  bool devices = false;
  for (const NodeProfile& node : profile.nodes) {
    width = std::max(width, node.node.size());
    devices = devices || node.device_s > 0;
  }
  std::string text = fmt::format("{:<{}}  {:>9}{}  {:>10}  {:>10}{}  {:>9}  {:>7}\n", "node", width,
                                 "busy", devices ? "     device" : "", "for input", "for room",
                                 devices ? "  for device" : "", "GB", "GB/s");
  for (const NodeProfile& node : profile.nodes) {
    const double gigabytes = static_cast<double>(node.bytes) / 1e9;
    const double worked_s = std::max(node.busy_s, node.device_s);
    text += fmt::format("{:<{}}  {:>7.3f} s", node.node, width, node.busy_s);
    if (devices) text += fmt::format("  {:>7.3f} s", node.device_s);
    text +=
        fmt::format("  {:>8.3f} s  {:>8.3f} s", node.waiting_for_input_s, node.waiting_for_room_s);
    if (devices) text += fmt::format("  {:>8.3f} s", node.waiting_for_device_s);
    text += fmt::format("  {:>9.3f}  {:>7.2f}", gigabytes, worked_s > 0 ? gigabytes / worked_s : 0);
    if (node.dropped > 0) text += fmt::format("  {} blocks dropped", node.dropped);
    text += '\n';
  }
  const Busiest most = busiest_of(profile);
  const bool on_device = most.time == &NodeProfile::device_s;
  text += fmt::format(
      "bound by {}: its {} worked {:.0f} % of {:.3f} s (set-up {:.3f} s); {}\n", profile.bound_by,
      on_device ? "device" : "thread", 100 * profile.efficiency, profile.run_s, profile.setup_s,
      profile.efficiency < 0.7 ? "longer blocks or deeper rings would keep it busier"
      : on_device              ? "a faster device, or several, would raise the rate"
                               : "a faster processor or disk, or more cores, would raise the rate");
  return text;
}

}  // namespace tautline::engine

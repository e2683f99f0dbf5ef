#include "tautline/engine/profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace tautline::engine {

namespace {

using Time = double NodeProfile::*;

// A thread whose device works for at least this fraction of the thread's time mostly waits for the device. Measured:
// 0.99 in searches that the device bounds; 0.80 to 0.82 where the host's part of the search bounds them.
constexpr double kWaitsForDevice = 0.9;
// A thread or device that works for less of the run than this does not bound it.
constexpr double kBounds = 0.7;

struct Busiest {
  double seconds = 0;
  std::string lane;
  Time time = &NodeProfile::busy_s;
};

// The thread or device that worked longest, of all lanes. For a thread that waits for its device inside a node, the
// device's time counts.
Busiest busiest_of(const Profile& profile) {
  struct Times {
    double thread_s = 0, device_s = 0;
  };
  std::map<std::string, Times> lanes;
  for (const NodeProfile& node : profile.nodes) {
    lanes[node.lane].thread_s += node.busy_s;
    lanes[node.lane].device_s += node.device_s;
  }
  Busiest most;
  for (const auto& [lane, times] : lanes) {
    const bool waits = times.device_s > 0 && times.device_s >= kWaitsForDevice * times.thread_s;
    const double seconds = waits ? times.device_s : times.thread_s;
    if (seconds > most.seconds)
      most = {seconds, lane, waits ? &NodeProfile::device_s : &NodeProfile::busy_s};
  }
  return most;
}

const NodeProfile* longest_of(const Profile& profile, const Busiest& most) {
  const NodeProfile* longest = nullptr;
  for (const NodeProfile& node : profile.nodes)
    if (node.lane == most.lane && (longest == nullptr || node.*most.time > longest->*most.time))
      longest = &node;
  return longest;
}

// On its thread or on its device, which work at the same time.
double worked_s(const NodeProfile& node) {
  return std::max(node.busy_s, node.device_s);
}

const char* advice(const NodeProfile& bound, bool on_device, double efficiency) {
  if (efficiency < kBounds)
    return "a longer run or more memory for its blocks would keep it busier";
  switch (bound.kind) {
    case NodeKind::source:
      return "reading: faster storage, or files in the page cache; receiving or simulating: more "
             "cores";
    case NodeKind::sink:
      return "writing: a faster disk, or less output (averages, fewer trials)";
    case NodeKind::copy:
      return "copying: a faster link to the device, or samples of fewer bits";
    case NodeKind::stage:
      break;
  }
  if (on_device) return "a faster device, or several, would raise the rate";
  return bound.device_s > 0 ? "faster cores would raise the rate"
                            : "more cores, or a GPU, would raise the rate";
}

}  // namespace

void conclude(Profile& profile) {
  const Busiest most = busiest_of(profile);
  double stages_s = 0;
  for (const NodeProfile& node : profile.nodes)
    if (node.kind == NodeKind::stage) stages_s += worked_s(node);
  profile.efficiency = profile.run_s > 0 ? most.seconds / profile.run_s : 0;
  profile.stages_share = profile.run_s > 0 ? stages_s / profile.run_s : 0;
  if (const NodeProfile* longest = longest_of(profile, most)) profile.bound_by = longest->node;
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
    const double seconds = worked_s(node);
    text += fmt::format("{:<{}}  {:>7.3f} s", node.node, width, node.busy_s);
    if (devices) text += fmt::format("  {:>7.3f} s", node.device_s);
    text +=
        fmt::format("  {:>8.3f} s  {:>8.3f} s", node.waiting_for_input_s, node.waiting_for_room_s);
    if (devices) text += fmt::format("  {:>8.3f} s", node.waiting_for_device_s);
    text += fmt::format("  {:>9.3f}  {:>7.2f}", gigabytes, seconds > 0 ? gigabytes / seconds : 0);
    if (node.dropped > 0) text += fmt::format("  {} blocks dropped", node.dropped);
    text += '\n';
  }
  const Busiest most = busiest_of(profile);
  const NodeProfile* bound = longest_of(profile, most);
  if (bound == nullptr) return text;
  const bool on_device = most.time == &NodeProfile::device_s;
  return text +
         fmt::format("bound by {}: its {} worked {:.0f} % of {:.3f} s (set-up {:.3f} s); {}\n",
                     bound->node, on_device ? "device" : "thread", 100 * profile.efficiency,
                     profile.run_s, profile.setup_s, advice(*bound, on_device, profile.efficiency));
}

}  // namespace tautline::engine

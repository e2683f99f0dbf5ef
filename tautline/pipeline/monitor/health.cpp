#include "tautline/pipeline/monitor/health.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "tautline/formats/numbered_name.h"
#include "tautline/formats/partial_file.h"
#include "tautline/pipeline/monitor/taps.h"

namespace tautline::pipeline::monitor {

namespace {

using engine::Activity;
using engine::NodeSnapshot;
using engine::Snapshot;

double tenths(double seconds) {
  return std::round(seconds * 10) / 10;
}

double thousandths(double seconds) {
  return std::round(seconds * 1000) / 1000;
}

double share(double part) {
  return std::round(std::clamp(part, 0.0, 1e6) * 1000) / 1000;
}

void add_file(const std::filesystem::path& path, FileState& state) {
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0) return;
  state.exists = true;
  state.modified_ns =
      std::max(state.modified_ns,
               std::int64_t{found.st_mtim.tv_sec} * 1'000'000'000 + found.st_mtim.tv_nsec);
  if (S_ISREG(found.st_mode)) state.bytes += static_cast<std::uint64_t>(found.st_size);
}

// Of folders of thousands of files only so many are looked at each time.
constexpr int kMostFilesLookedAt = 2000;

std::size_t entries_of(const char* folder) {
  std::error_code ignored;
  const std::filesystem::directory_iterator all(folder, ignored);
  return ignored ? 0 : static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

nlohmann::ordered_json process() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  std::size_t pages = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  return {{"cpu_s", thousandths(seconds(used.ru_utime) + seconds(used.ru_stime))},
          {"memory_bytes", resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE))},
          {"descriptors", entries_of("/proc/self/fd")},
          {"threads", entries_of("/proc/self/task")}};
}

// Of a source that counts what comes: bytes, or the packets that it could use.
bool has_received(const engine::Counters& counters) {
  for (const char* name : {"accepted", "received_bytes", "samples"})
    if (const auto found = counters.find(name); found != counters.end()) return found->second > 0;
  return false;
}

std::string policy_name(engine::Policy policy) {
  switch (policy) {
    case engine::Policy::wait:
      return "wait";
    case engine::Policy::drop_oldest:
      return "drop_oldest";
    case engine::Policy::drop_newest:
      break;
  }
  return "drop_newest";
}

std::string state_of(const Snapshot& run) {
  if (!run.error.empty()) return "failed";
  if (run.finished) return "finished";
  if (run.running) return "running";
  return run.run_s > 0 ? "finishing" : "starting";
}

}  // namespace

FileState look_at(const std::string& path) {
  FileState state;
  std::error_code ignored;
  for (const std::string& name : {formats::partial_name(path), path}) {
    add_file(name, state);
    if (!state.exists) continue;
    int left = kMostFilesLookedAt;
    for (std::filesystem::recursive_directory_iterator
             at(name, std::filesystem::directory_options::skip_permission_denied, ignored),
         end;
         !ignored && at != end && left > 0; at.increment(ignored), --left)
      add_file(at->path(), state);
    break;
  }
  if (!state.exists)
    for (const std::string& name : formats::numbered_files(path)) add_file(name, state);
  const std::filesystem::path folder = std::filesystem::absolute(path, ignored).parent_path();
  const auto space = std::filesystem::space(folder, ignored);
  if (!ignored) state.free_bytes = space.available;
  return state;
}

bool is_loss(const std::string& counter) {
  for (const char* word :
       {"lost", "dropped", "late", "early", "duplicate", "repeated", "jump", "missing", "malformed",
        "foreign", "invalid", "trailing", "not_finite", "overflow", "gap_samples", "refused"})
    if (counter.find(word) != std::string::npos) return true;
  return false;
}

nlohmann::ordered_json Health::update(const Snapshot& run, double now_s) {
  problems_.clear();
  lost_ = Json::array();
  Moment moment{now_s, run.run_s, run.samples, {}};
  for (const NodeSnapshot& node : run.nodes)
    moment.work_s[node.profile.node] = {node.profile.busy_s, node.profile.device_s};
  moments_.push_back(std::move(moment));
  while (moments_.size() > 2 && now_s - moments_[1].now_s >= config_.recent_s) moments_.pop_front();

  Json status{
      {"schema", "tautline.status"},
      {"version", 1},
      {"time_unix_s",
       std::round(std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch())
                      .count() *
                  10) /
           10},
      {"pipeline", config_.pipeline},
      {"state", state_of(run)},
      {"error", run.error.empty() ? Json(nullptr) : Json(run.error)}};
  status["progress"] = rates(run);
  status["progress"]["unchanged_s"] = tenths(progress_.watch(run.samples, now_s));
  Json nodes = Json::array(), rings = Json::array();
  for (const NodeSnapshot& one : run.nodes) {
    if (is_tap(one.profile.node)) continue;
    nodes.push_back(node(one, run, now_s));
  }
  for (const engine::RingSnapshot& ring : run.rings) {
    if (is_tap(ring.to)) continue;
    rings.push_back({{"from", ring.from},
                     {"to", ring.to},
                     {"waiting", ring.waiting},
                     {"in_use", ring.in_use},
                     {"blocks", ring.blocks},
                     {"policy", policy_name(ring.policy)},
                     {"dropped", ring.dropped}});
  }
  status["nodes"] = std::move(nodes);
  status["rings"] = std::move(rings);
  status["files"] = files(now_s);
  status["losses"] = lost_;
  status["process"] = process();
  if (!run.running && status["state"] != "starting") problems_.clear();
  if (!run.error.empty()) problems_.insert(problems_.begin(), "failed: " + run.error);
  status["problems"] = problems_;
  return status;
}

Health::Json Health::rates(const Snapshot& run) const {
  const double data_s = static_cast<double>(run.samples) / config_.rate_hz;
  const Moment& before = moments_.front();
  const double recent_s = moments_.back().run_s - before.run_s;
  Json factor = nullptr, recent = nullptr, total_s = nullptr;
  if (run.run_s > 0) factor = share(data_s / run.run_s);
  if (recent_s > 0)
    recent = share(static_cast<double>(run.samples - before.samples) / config_.rate_hz / recent_s);
  if (run.total_samples > 0) total_s = static_cast<double>(run.total_samples) / config_.rate_hz;
  return {{"run_s", tenths(run.run_s)}, {"data_s", data_s},
          {"total_data_s", total_s},    {"samples", run.samples},
          {"real_time_factor", factor}, {"recent_real_time_factor", recent}};
}

Health::Json Health::node(const NodeSnapshot& node, const Snapshot& run, double now_s) {
  const engine::NodeProfile& profile = node.profile;
  const std::string& name = profile.node;
  const double counters_s = counters_[name].watch(node.counters, now_s);
  const double blocks_s = blocks_[name].watch(profile.blocks, now_s);
  const double moved_s = std::min(counters_s, blocks_s);
  Json json{{"node", name},
            {"lane", profile.lane},
            {"activity", engine::to_string(node.activity)},
            {"activity_s", tenths(node.activity_s)},
            {"blocks", profile.blocks},
            {"bytes", profile.bytes},
            {"since_block_s", tenths(node.since_block_s)},
            {"unchanged_s", tenths(moved_s)},
            {"busy_s", thousandths(profile.busy_s)},
            {"device_s", thousandths(profile.device_s)},
            {"waiting_for_input_s", thousandths(profile.waiting_for_input_s)},
            {"waiting_for_room_s", thousandths(profile.waiting_for_room_s)}};
  const Moment& before = moments_.front();
  const double recent_s = now_s - before.now_s;
  const auto then = before.work_s.find(name);
  json["load"] =
      recent_s > 0 ? Json(share((profile.busy_s - then->second.first) / recent_s)) : Json(nullptr);
  json["device_load"] = recent_s > 0
                            ? Json(share((profile.device_s - then->second.second) / recent_s))
                            : Json(nullptr);
  if (config_.live.contains(name) &&
      profile.waiting_for_input_s == 0) {  // it does not say when it waits
    json["load"] = nullptr;
    if (node.activity == Activity::working) json["activity"] = "working or waiting for data";
  }
  json["counters"] = node.counters;
  json["counters_age_s"] = tenths(node.counters_age_s);
  if (node.source) add_receiving(node, run, moved_s, json);
  add_stalled(node, run, json);
  add_losses(node, run.running, now_s);
  return json;
}

// Of a source, whose numbers have not changed for `moved_s`. Before the run begins, one whose first data are read.
void Health::add_receiving(const NodeSnapshot& node, const Snapshot& run, double moved_s,
                           Json& json) {
  // That counts stand at 0 is no sign of life.
  const bool seen = node.profile.blocks > 0 || has_received(node.counters);
  const bool moves = seen && moved_s < config_.patience_s;
  const bool runs = run.running ? node.activity != Activity::finished
                                : node.activity == Activity::waiting_for_input;
  const double reading_s = run.running ? run.run_s : node.activity_s;
  json["receiving"] = runs && moves;
  if (!runs || reading_s < config_.patience_s) return;
  const std::string& name = node.profile.node;
  for (const std::string& problem : node.problems) complain(name + ": " + problem);
  if (moves || node.activity == Activity::waiting_for_room) return;
  if (!seen)
    complain(fmt::format("{}: nothing received yet, for {:.1f} s", name, reading_s));
  else if (node.problems.empty())  // else it waits for others than those that are silent
    complain(fmt::format("{}: nothing received for {:.1f} s", name, moved_s));
}

void Health::add_stalled(const NodeSnapshot& node, const Snapshot& run, Json& json) {
  const engine::NodeProfile& profile = node.profile;
  std::size_t waiting = 0;
  for (const engine::RingSnapshot& ring : run.rings)
    if (ring.to == profile.node) waiting += ring.waiting;
  // A stage whose blocks take long is no stall.
  const double mean_s = profile.blocks > 1 ? (profile.busy_s - node.activity_s) /
                                                 static_cast<double>(profile.blocks - 1)
                                           : 0;
  const bool stalled = run.running && waiting > 0 && node.activity == Activity::working &&
                       node.activity_s > std::max(config_.patience_s, 3 * mean_s);
  json["stalled"] = stalled;
  if (stalled)
    complain(fmt::format("{}: has been at one block for {:.1f} s, and {} wait{} for it",
                         profile.node, node.activity_s, waiting, waiting == 1 ? "s" : ""));
}

void Health::add_losses(const NodeSnapshot& node, bool running, double now_s) {
  const std::string& name = node.profile.node;
  engine::Counters losses;
  for (const auto& [counter, count] : node.counters)
    if (is_loss(counter) && count > 0) losses[counter] = count;
  if (node.profile.dropped > 0) losses["dropped_blocks"] = node.profile.dropped;
  for (const auto& [counter, count] : losses) {
    const double unchanged_s = losses_[name + "." + counter].watch(count, now_s);
    lost_.push_back({{"node", name},
                     {"kind", counter},
                     {"count", count},
                     {"unchanged_s", tenths(unchanged_s)}});
    if (running && unchanged_s < config_.recent_s)
      complain(fmt::format("{}: {} now {}", name, counter, count));
  }
}

Health::Json Health::files(double now_s) {
  Json list = Json::array();
  for (const WrittenFile& file : config_.files) {
    const FileState state = config_.look(file.path);
    FileState apart = state;
    apart.free_bytes = 0;
    Watched<FileState>& watched = states_[file.path];
    const bool first = watched.since_s < 0;
    const double unchanged_s = watched.watch(apart, now_s);
    // What was there when we looked first may be of another run.
    bool& moved = moved_[file.path];
    moved = moved || (!first && unchanged_s == 0);
    list.push_back({{"node", file.node},
                    {"path", file.path},
                    {"exists", state.exists},
                    {"bytes", state.bytes},
                    {"writing", state.exists && moved && unchanged_s < config_.patience_s},
                    {"unchanged_s", tenths(unchanged_s)},
                    {"free_bytes", state.free_bytes}});
    if (state.free_bytes < config_.least_free_bytes)
      complain(fmt::format("{}: {} MiB left on the disk of {}", file.node, state.free_bytes >> 20,
                           file.path));
  }
  return list;
}

}  // namespace tautline::pipeline::monitor

// The health of a run: statements about its progress, each of which holds only while its numbers change.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "tautline/engine/snapshot.h"
#include "tautline/pipeline/graph_file/graph_file.h"

namespace tautline::pipeline::monitor {

/// What the file system says of a file, under its own name or the one that it has while it is written.
struct FileState {
  bool exists = false;
  std::uint64_t bytes = 0;       ///< of a folder: of all files in it
  std::int64_t modified_ns = 0;  ///< the latest
  std::uint64_t free_bytes = 0;  ///< of its disk
  friend bool operator==(const FileState&, const FileState&) = default;
};
FileState look_at(const std::string& path);

struct HealthConfig {
  std::string pipeline;  ///< its file
  double rate_hz = 1;    ///< of the samples of Snapshot::samples
  std::vector<WrittenFile> files;
  std::set<std::string> live;  ///< sources that wait for others
  std::function<FileState(const std::string&)> look = look_at;
  double patience_s = 1;  ///< without change: not receiving, not writing, stalled
  double recent_s = 3;    ///< that recent rates are of
  std::uint64_t least_free_bytes = std::uint64_t{256}
                                   << 20;  ///< of a disk, before it is called full
};

class Health {
 public:
  explicit Health(HealthConfig config) : config_(std::move(config)) {}

  /// Snapshots of one run in order of time; `now_s` of a clock that never goes back. Returns the status:
  /// docs/guide/monitor.md has its fields.
  nlohmann::ordered_json update(const engine::Snapshot& run, double now_s);

 private:
  // A value, and since when it has been that.
  template <class Value>
  struct Watched {
    Value value{};
    double since_s = -1;  // below 0: never seen
    // For how long it has not changed.
    double watch(const Value& now, double now_s) {
      if (since_s < 0 || !(value == now)) {
        value = now;
        since_s = now_s;
      }
      return now_s - since_s;
    }
  };
  struct Moment {
    double now_s = 0, run_s = 0;
    std::uint64_t samples = 0;
    std::map<std::string, std::pair<double, double>> work_s;  // of each node: its own, its device's
  };
  using Json = nlohmann::ordered_json;

  Json rates(const engine::Snapshot& run) const;
  Json node(const engine::NodeSnapshot& node, const engine::Snapshot& run, double now_s);
  void add_receiving(const engine::NodeSnapshot& node, const engine::Snapshot& run, double moved_s,
                     Json& json);
  void add_stalled(const engine::NodeSnapshot& node, const engine::Snapshot& run, Json& json);
  void add_losses(const engine::NodeSnapshot& node, bool running, double now_s);
  Json files(double now_s);
  void complain(std::string what) { problems_.push_back(std::move(what)); }

  HealthConfig config_;
  std::deque<Moment> moments_;
  Watched<std::uint64_t> progress_;
  std::map<std::string, Watched<engine::Counters>> counters_;
  std::map<std::string, Watched<std::uint64_t>> blocks_, losses_;
  std::map<std::string, Watched<FileState>> states_;
  std::map<std::string, bool> moved_;  // of each file, since the run began
  Json lost_;
  std::vector<std::string> problems_;
};

/// Counters by which data do not arrive whole, by their names.
bool is_loss(const std::string& counter);

/// The status in Prometheus' text format.
std::string prometheus_text(const nlohmann::ordered_json& status);

}  // namespace tautline::pipeline::monitor

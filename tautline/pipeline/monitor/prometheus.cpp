// The status as Prometheus reads it: text format 0.0.4.
#include <fmt/format.h>

#include "tautline/pipeline/monitor/health.h"

namespace tautline::pipeline::monitor {

namespace {

using StatusJson = nlohmann::ordered_json;
using Labels = std::vector<std::pair<const char*, std::string>>;

std::string escaped_label(const std::string& value) {
  std::string text;
  for (const char c : value) {
    if (c == '\\' || c == '"') text += '\\';
    if (c == '\n')
      text += "\\n";
    else
      text += c;
  }
  return text;
}

class MetricText {
 public:
  void family(const char* name, const char* type, const char* help) {
    name_ = name;
    text_ += fmt::format("# HELP tautline_{} {}\n# TYPE tautline_{} {}\n", name, help, name, type);
  }
  void add(const StatusJson& value, const Labels& labels = {}) {
    if (value.is_null()) return;
    std::string list;
    for (const auto& [label, text] : labels)
      list += fmt::format("{}{}=\"{}\"", list.empty() ? "" : ",", label, escaped_label(text));
    text_ += fmt::format("tautline_{}{} {}\n", name_, list.empty() ? "" : "{" + list + "}",
                         value.is_boolean() ? (value.get<bool>() ? "1" : "0") : value.dump());
  }
  std::string take() { return std::move(text_); }

 private:
  std::string name_, text_;
};

}  // namespace

std::string prometheus_text(const nlohmann::ordered_json& status) {
  MetricText metrics;
  const StatusJson& progress = status["progress"];
  const auto one = [&](const char* name, const char* type, const char* help,
                       const StatusJson& value) {
    metrics.family(name, type, help);
    metrics.add(value);
  };
  one("running", "gauge", "1 while the run goes on", status["state"] == "running");
  one("failed", "gauge", "1 when the run has ended by an error", status["state"] == "failed");
  one("run_seconds", "gauge", "time since every node had started", progress["run_s"]);
  one("data_seconds_total", "counter", "data taken", progress["data_s"]);
  one("real_time_factor", "gauge", "data over time, in the last seconds",
      progress["recent_real_time_factor"]);
  one("progress_unchanged_seconds", "gauge", "since data were last taken", progress["unchanged_s"]);
  one("problems", "gauge", "problems that the status names", status["problems"].size());
  one("cpu_seconds_total", "counter", "processor time of the process", status["process"]["cpu_s"]);
  one("memory_bytes", "gauge", "resident memory of the process", status["process"]["memory_bytes"]);
  one("descriptors", "gauge", "open files and sockets of the process",
      status["process"]["descriptors"]);
  one("threads", "gauge", "threads of the process", status["process"]["threads"]);
  const auto of_nodes = [&](const char* name, const char* type, const char* help,
                            const char* field) {
    metrics.family(name, type, help);
    for (const StatusJson& node : status["nodes"])
      if (node.contains(field)) metrics.add(node[field], {{"node", node["node"]}});
  };
  of_nodes("node_blocks_total", "counter", "blocks given to a node, or by a source", "blocks");
  of_nodes("node_bytes_total", "counter", "bytes of their arrays", "bytes");
  of_nodes("node_busy_seconds_total", "counter", "time in a node's own work", "busy_s");
  of_nodes("node_device_seconds_total", "counter", "time of its device's work", "device_s");
  of_nodes("node_load", "gauge", "share of the last seconds in which its thread worked", "load");
  of_nodes("node_device_load", "gauge", "the same of its device", "device_load");
  of_nodes("node_unchanged_seconds", "gauge", "since its blocks or counters moved", "unchanged_s");
  of_nodes("node_stalled", "gauge", "1 while it stays at one block and others wait", "stalled");
  of_nodes("source_receiving", "gauge", "1 while a source's blocks or counters move", "receiving");
  metrics.family("count_total", "counter", "counters of nodes, by name");
  for (const StatusJson& node : status["nodes"])
    for (const auto& [name, count] : node["counters"].items())
      metrics.add(count, {{"node", node["node"]}, {"name", name}});
  const auto of_rings = [&](const char* name, const char* type, const char* help,
                            const char* field) {
    metrics.family(name, type, help);
    for (const StatusJson& ring : status["rings"])
      metrics.add(ring[field], {{"from", ring["from"]}, {"to", ring["to"]}});
  };
  of_rings("ring_waiting_blocks", "gauge", "blocks that wait in a ring", "waiting");
  of_rings("ring_in_use_blocks", "gauge", "blocks that its reader has not finished", "in_use");
  of_rings("ring_blocks", "gauge", "blocks that there are", "blocks");
  of_rings("ring_dropped_blocks_total", "counter", "blocks that it gave up", "dropped");
  const auto of_files = [&](const char* name, const char* help, const char* field) {
    metrics.family(name, "gauge", help);
    for (const StatusJson& file : status["files"])
      metrics.add(file[field], {{"node", file["node"]}, {"path", file["path"]}});
  };
  of_files("file_bytes", "size of an output", "bytes");
  of_files("file_writing", "1 while it grows or is written to", "writing");
  of_files("file_unchanged_seconds", "since it last was", "unchanged_s");
  of_files("disk_free_bytes", "free on its disk", "free_bytes");
  return metrics.take();
}

}  // namespace tautline::pipeline::monitor

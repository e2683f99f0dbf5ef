// What a run with a checkpoint must be, and what must be the same when it goes on.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "tautline/core/counted.h"
#include "tautline/core/error.h"
#include "tautline/pipeline/graph_file/graph_file.h"

namespace tautline::pipeline {

namespace {

// So that a file that was changed or replaced is noticed without reading it.
std::string file_fact(const std::string& path) {
  std::error_code error;
  const auto modified = std::filesystem::last_write_time(path, error);
  if (error)
    throw core::Error(core::ErrorKind::io, path, error.message(), "a file that can be read");
  const auto bytes =
      std::filesystem::is_directory(path) ? 0 : std::filesystem::file_size(path, error);
  return fmt::format("{} bytes, modified at {} ns", bytes, modified.time_since_epoch().count());
}

}  // namespace

void GraphFile::require_resumable() const {
  constexpr const char* kExpected =
      "one voltage_files, one filter_bank, and a correlator with a visibility_file or a "
      "spectra_file, in a run with a checkpoint";
  if (!schedule_.empty())
    throw core::Error(core::ErrorKind::config, "checkpoint", "given for a schedule",
                      "a pipeline without [[observation]]");
  for (const WrittenFile& file : written())
    if (file.path.find(utc_) != std::string::npos)
      throw core::Error(core::ErrorKind::config, "checkpoint", "given for a name with {utc}",
                        "names that are the same in each run");
  for (const NodeTable& node : nodes_) {
    const auto same = std::count_if(nodes_.begin(), nodes_.end(), [&](const NodeTable& other) {
      return other.type == node.type;
    });
    if (!node.type->resumes || same > 1)
      throw core::Error(core::ErrorKind::config, node.place,
                        fmt::format("{} of type {}", same, node.type->name), kExpected);
    if (node.edge.policy != engine::Policy::wait)
      throw core::Error(core::ErrorKind::config, node.place, "a policy that drops blocks",
                        "`wait` in a run with a checkpoint");
  }
  // Each is of another type, and nothing but a filter bank's spectra goes to a correlator or a file of spectra.
  const bool spectra = std::ranges::any_of(
      nodes_, [](const NodeTable& node) { return node.type->name == "spectra_file"; });
  if (nodes_.size() != (spectra ? 3U : 4U))
    throw core::Error(core::ErrorKind::config, "checkpoint",
                      "given for " + core::counted(nodes_.size(), "node"), kExpected);
}

std::map<std::string, std::string> GraphFile::facts() const {
  std::map<std::string, std::string> facts;
  for (const NodeTable& node : nodes_) {
    facts[node.name + ".type"] = node.type->name;
    if (!node.inputs.empty())
      facts[node.name + ".inputs"] = fmt::format("{}", fmt::join(node.inputs, ", "));
    for (const Value& value : node.values) {
      facts[node.name + "." + value.field->name] = value.text;
      const auto& reads = node.type->reads;
      if (std::find(reads.begin(), reads.end(), value.field->name) == reads.end()) continue;
      const bool is_list = value.field->kind == core::FieldKind::list;
      for (const std::string& path :
           is_list ? core::file_names().read(value.text) : std::vector<std::string>{value.text})
        if (!path.empty() && std::filesystem::exists(path)) facts[path] = file_fact(path);
    }
  }
  return facts;
}

}  // namespace tautline::pipeline

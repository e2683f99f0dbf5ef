#include "tautline/pipeline/search/drawn_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>

#include "tautline/core/counted.h"
#include "tautline/core/error.h"

namespace tautline::pipeline {

namespace {

namespace fs = std::filesystem;

bool is_cutout(const std::string& name) {
  return name.ends_with(".h5") && name.starts_with("cand_tstart_");
}

bool is_picture(const std::string& name) {
  const std::string begin = "candidate_", end = ".png";
  if (!name.starts_with(begin) || !name.ends_with(end)) return false;
  const std::string rank =
      name.substr(begin.size(), name.size() - std::min(name.size(), begin.size() + end.size()));
  return rank.size() >= 4 && std::ranges::all_of(rank, [](char c) { return c >= '0' && c <= '9'; });
}

fs::path folder_of(const std::string& list) {
  std::error_code ignored;
  return fs::weakly_canonical(fs::absolute(list, ignored).parent_path(), ignored);
}

fs::path whole(const fs::path& path) {
  std::error_code ignored;
  return fs::weakly_canonical(fs::absolute(path, ignored), ignored);
}

std::vector<std::string> names_in(const DrawnKind& kind, const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    if (std::string name = at->path().filename().string(); kind.is_name(name))
      names.push_back(std::move(name));
  std::sort(names.begin(), names.end());
  return names;
}

// Or not known.
bool is_newer(const fs::path& one, const fs::path& other) {
  std::error_code failed, other_failed;
  const auto time = fs::last_write_time(one, failed);
  const auto other_time = fs::last_write_time(other, other_failed);
  return failed || other_failed || time > other_time;
}

}  // namespace

const DrawnKind kCutoutFiles{"cutout_folder", "cutout_files", "cut-out", is_cutout};
const DrawnKind kPictureFiles{"picture_folder", "picture_files", "picture", is_picture};

std::string picture_name(std::size_t rank) {
  return fmt::format("candidate_{:04}.png", rank);
}

nlohmann::ordered_json drawn_files(const std::string& list, const std::string& folder,
                                   const std::vector<std::string>& names) {
  std::error_code error;
  const fs::path place = fs::proximate(whole(folder), folder_of(list), error);
  return {{"folder", (error ? whole(folder) : place).string()}, {"files", names}};
}

std::set<std::string> drawn_earlier(const DrawnKind& kind, const std::string& list,
                                    const std::string& folder) {
  if (list.empty() || folder.empty()) return {};
  std::ifstream file(list + ".json");
  const auto record = nlohmann::json::parse(file, nullptr, false);
  if (!record.is_object()) return {};
  const auto schema = record.find("schema");
  if (schema == record.end() || *schema != "tautline.search.record") return {};
  const auto drawn = record.find(kind.record_key);
  if (drawn == record.end() || !drawn->is_object() || !drawn->contains("folder") ||
      !(*drawn)["folder"].is_string() || !drawn->contains("files") || !(*drawn)["files"].is_array())
    return {};
  if (whole(folder_of(list) / (*drawn)["folder"].get<std::string>()) != whole(folder)) return {};
  std::set<std::string> named;
  for (const auto& name : (*drawn)["files"])
    if (name.is_string()) named.insert(name.get<std::string>());
  std::set<std::string> there;
  for (const std::string& name : names_in(kind, folder))
    if (named.contains(name) && !is_newer(fs::path(folder) / name, list + ".json"))
      there.insert(name);
  return there;
}

void require_no_others(const DrawnKind& kind, const std::string& list, const std::string& folder,
                       bool overwrite) {
  std::vector<std::string> others = names_in(kind, folder);
  const std::size_t all = others.size();
  const std::set<std::string> own = drawn_earlier(kind, list, folder);
  if (overwrite) std::erase_if(others, [&](const auto& name) { return own.contains(name); });
  if (others.empty()) return;
  const std::string more =
      others.size() > 1 ? fmt::format(" and {} more", others.size() - 1) : std::string();
  const std::string holds = folder + ", which holds " + others.front() + more;
  if (own.size() == all)
    throw core::Error(core::ErrorKind::io, kind.field, holds,
                      fmt::format("a folder without {}s", kind.one),
                      "give `overwrite` or another name");
  throw core::Error(
      core::ErrorKind::io, kind.field, holds,
      fmt::format("a folder without {}s{}", kind.one,
                  overwrite ? " but those that " + (list.empty() ? "the list" : list + ".json") +
                                  " names, and is not older than: those of two searches would mix"
                            : std::string()),
      fmt::format("give another name, or move the {}s away", kind.one));
}

}  // namespace tautline::pipeline

#include "tautline/formats/numbered_name.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "tautline/core/error.h"
#include "tautline/formats/partial_file.h"

namespace tautline::formats {

namespace {

namespace fs = std::filesystem;

// ".uvh5", and ".table.csv", which is one ending of curves.
std::string ending_of(const fs::path& path) {
  const std::string name = path.filename().string(), table = ".table.csv";
  return name.ends_with(table) && name != table ? table : path.extension().string();
}

std::string stem_of(const fs::path& path) {
  const std::string name = path.filename().string();
  return name.substr(0, name.size() - ending_of(path).size());
}

// Whether a name is that of a numbered file of `path`, or one beside it ("night-0001.dada.json").
bool is_numbered(const std::string& name, const fs::path& path) {
  const std::string begin = stem_of(path) + "-", end = ending_of(path);
  if (!name.starts_with(begin)) return false;
  const auto digits = static_cast<std::size_t>(
      std::find_if(name.begin() + static_cast<std::ptrdiff_t>(begin.size()), name.end(),
                   [](char c) { return c < '0' || c > '9'; }) -
      name.begin());
  return digits >= begin.size() + 4 && name.compare(digits, end.size(), end) == 0;
}

}  // namespace

std::string numbered_name(const std::string& path, std::size_t number) {
  fs::path name = path;
  if (!name.has_filename()) name = name.parent_path();  // "night.ms/"
  return fmt::format("{}-{:04}{}", (name.parent_path() / stem_of(name)).string(), number,
                     ending_of(name));
}

std::vector<std::string> numbered_files(const std::string& path) {
  fs::path name = path;
  if (!name.has_filename()) name = name.parent_path();
  std::vector<std::string> files;
  std::error_code ignored;
  for (const auto& entry :
       fs::directory_iterator(name.has_parent_path() ? name.parent_path() : fs::path("."), ignored))
    if (is_numbered(entry.path().filename().string(), name)) files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  return files;
}

// Files that a killed run left under partial names do no harm.
void require_numbered_can_be_written(const std::string& field, const std::string& path,
                                     bool overwrite) {
  require_can_be_written(field, path.empty() ? path : numbered_name(path, 1), overwrite);
  if (overwrite) return;
  for (const std::string& file : numbered_files(path))
    if (!file.ends_with(partial_name("")))
      throw core::Error(core::ErrorKind::config, field, path + ", of which there is " + file,
                        "a new name", "give `overwrite` or another name");
}

}  // namespace tautline::formats

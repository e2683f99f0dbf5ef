#include "cli/output_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <system_error>

#include "tautline/core/error.h"
#include "tautline/formats/file_formats.h"

namespace tautline::cli {

namespace {

std::string lower_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](char c) {
    return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  });
  return text;
}

// Endings of files that tautline writes, or that other programs expect.
const std::vector<std::string>& known_endings() {
  static const std::vector<std::string> endings = [] {
    std::vector<std::string> all{".json", ".toml", ".html", ".htm",  ".cand", ".singlepulse",
                                 ".txt",  ".pdf",  ".png",  ".npz",  ".mask", ".raw",
                                 ".jpg",  ".svg",  ".log",  ".state"};
    for (const formats::FileFormat& format : formats::file_formats())
      for (const std::string& ending : format.endings) all.push_back(lower_case(ending));
    return all;
  }();
  return endings;
}

bool ends_in_one(const std::string& path, const std::vector<std::string>& endings) {
  const std::string name = lower_case(path);
  return std::any_of(endings.begin(), endings.end(), [&](const std::string& ending) {
    return name.size() > ending.size() && name.ends_with(ending);
  });
}

}  // namespace

void require_own_ending(const std::string& option, const std::string& path,
                        const std::vector<std::string>& endings) {
  if (path.empty()) return;
  const std::string expected = "a name ending in " + fmt::format("{}", fmt::join(endings, " or "));
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    throw core::Error(core::ErrorKind::config, option, path + " is a folder", expected);
  if (!ends_in_one(path, endings) && ends_in_one(path, known_endings()))
    throw core::Error(core::ErrorKind::config, option, path, expected);
}

void require_folder_name(const std::string& option, const std::string& path,
                         const std::vector<std::string>& endings) {
  std::error_code ignored;
  // An existing file is refused, or is a folder, whatever its name.
  if (!std::filesystem::exists(path, ignored) && ends_in_one(path, known_endings()))
    throw core::Error(
        core::ErrorKind::config, option, path,
        fmt::format("a name ending in {}, or that of a folder", fmt::join(endings, ", ")));
}

}  // namespace tautline::cli

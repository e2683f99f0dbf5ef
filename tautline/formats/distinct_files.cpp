#include "tautline/formats/distinct_files.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "tautline/core/error.h"
#include "tautline/formats/partial_file.h"

namespace tautline::formats {

namespace {

// Links followed as far as the path exists, and no "..", "." or slash at the end.
std::filesystem::path normalised(const std::string& path) {
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(path, error).lexically_normal();
  std::filesystem::path found = std::filesystem::weakly_canonical(absolute, error);
  if (error) found = absolute;
  return found.has_filename() ? found : found.parent_path();
}

bool is_or_holds(const std::string& output, const std::string& other) {
  std::error_code ignored;
  if (std::filesystem::equivalent(output, other, ignored)) return true;
  const std::filesystem::path outer = normalised(output), inner = normalised(other);
  return std::mismatch(outer.begin(), outer.end(), inner.begin(), inner.end()).first == outer.end();
}

void refuse_same(const NamedFile& output, const NamedFile& other, const std::string& expected) {
  if (output.path.empty() || other.path.empty()) return;
  for (const std::string& written : {output.path, partial_name(output.path)})
    if (is_or_holds(written, other.path))
      throw core::Error(core::ErrorKind::config, output.option,
                        written + " is " + other.path + " of " + other.option, expected,
                        "give " + output.option + " another name");
}

}  // namespace

std::vector<NamedFile> name_files(const std::string& option,
                                  const std::vector<std::string>& paths) {
  std::vector<NamedFile> files;
  for (const std::string& path : paths) files.push_back({option, path});
  return files;
}

void require_distinct(const std::vector<NamedFile>& outputs, const std::vector<NamedFile>& inputs) {
  for (const NamedFile& output : outputs) {
    for (const NamedFile& input : inputs) refuse_same(output, input, "a file that is not read");
    for (const NamedFile& other : outputs)
      if (&other != &output) refuse_same(output, other, "a file for each output");
  }
}

}  // namespace tautline::formats

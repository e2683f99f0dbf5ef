#include "tautline/jit/result_log.h"

#include <system_error>
#include <utility>

#include "tautline/core/error.h"
#include "tautline/core/hash.h"
#include "tautline/jit/folders.h"
#include "tautline/jit/json.h"
#include "tautline/jit/line_file.h"

namespace tautline::jit {

namespace {

std::string heading(const TuningKey& key, const Space& space) {
  Json object{{"schema", "tautline.tuning_results"}, {"version", 1}};
  object.update(key_object(key));
  object["space"] = space.description();
  return one_line(object);
}

}  // namespace

ResultLog::ResultLog(std::filesystem::path path, const TuningKey& key, const Space& space)
    : path_(std::move(path)) {
  const std::string mine = heading(key, space);
  const auto lines = read_lines(path_);
  if (!lines.empty() && lines[0] != mine) {
    std::error_code error;
    std::filesystem::rename(path_, path_.string() + ".old", error);
    if (error)
      throw core::Error(core::ErrorKind::io, path_.string() + ": results of another search",
                        error.message(), {}, "move it away, or name another folder with `report`");
  }
  if (lines.empty() || lines[0] != mine) append_line(path_, mine);
  for (std::size_t n = 1; n < lines.size() && lines[0] == mine; ++n) {
    try {
      earlier_.push_back(parse_result(lines[n]));
    } catch (const core::Error&) {
      ++damaged_lines_;
    }
  }
}

void ResultLog::append(const Result& result) const {
  append_line(path_, to_json(result));
}

std::filesystem::path result_log_path(const TuningKey& key) {
  const auto folder = cache_folder();
  if (folder.empty()) return folder;
  return folder / "tuning" /
         (key.stage + "-" + core::hash_name(core::hash(one_line(key_object(key)))) + ".jsonl");
}

}  // namespace tautline::jit

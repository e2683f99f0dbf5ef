// Which cut-outs and pictures in a folder are of which list: the record of a list names those that its search makes.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <vector>

namespace tautline::pipeline {

/// A kind of files that a search makes of its candidates in a folder.
struct DrawnKind {
  const char* field;       ///< of the configuration, in messages
  const char* record_key;  ///< in the list's record
  const char* one;         ///< "cut-out"
  bool (*is_name)(const std::string& name);
};
/// cand_tstart_....h5
extern const DrawnKind kCutoutFiles;
/// candidate_0001.png
extern const DrawnKind kPictureFiles;

std::string picture_name(std::size_t rank);

/// For the record of `list`: {"folder": as seen from the list, "files": names}.
nlohmann::ordered_json drawn_files(const std::string& list, const std::string& folder,
                                   const std::vector<std::string>& names);

/// Those that the record of `list` says to be in `folder`, and that are there. Newer ones are of another search: a
/// search writes the record again once it has drawn.
std::set<std::string> drawn_earlier(const DrawnKind& kind, const std::string& list,
                                    const std::string& folder);

/// Before a search: throws Error(io) for a folder that holds some, unless `overwrite` and all are drawn_earlier().
void require_no_others(const DrawnKind& kind, const std::string& list, const std::string& folder,
                       bool overwrite);

}  // namespace tautline::pipeline

// Pictures of each candidate's profile, DM against time and frequency against time, in a folder.
#pragma once

#include <cstddef>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "tautline/pipeline/search/search_summary.h"

namespace tautline::pipeline {

/// For the time before a search: throws Error(io) where the folder has a picture of a candidate already, unless
/// `overwrite`, and Error(unsupported) where pictures cannot be drawn.
void require_candidate_pictures(const std::string& folder, bool overwrite);

/// FOLDER/candidate_0001.png ..., best first: profile, frequency against time and DM against time of each of
/// `summary.pictures`. They get their names together; destroyed before that, nothing of them is left.
class CandidatePictureFiles {
 public:
  /// Makes the folder.
  CandidatePictureFiles(const std::string& folder, bool overwrite);
  ~CandidatePictureFiles();

  void draw(const SearchSummary& summary, const std::stop_token& stop);
  /// Returns the paths.
  std::vector<std::string> publish();

 private:
  struct Folders;
  std::unique_ptr<Folders> folders_;
  bool overwrite_;
  std::size_t pictures_ = 0;
};

}  // namespace tautline::pipeline

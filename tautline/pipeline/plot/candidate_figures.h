// Pictures of each candidate's profile, DM against time and frequency against time, in a folder.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tautline/pipeline/search/search_summary.h"

namespace tautline::formats::figure {
struct Figure;
}

namespace tautline::pipeline {

/// For the time before a search: throws Error(io) where the folder has pictures of candidates already, unless
/// `overwrite` and all are of an earlier search to `list`, and Error(unsupported) where pictures cannot be drawn.
void require_candidate_pictures(const std::string& folder, const std::string& list, bool overwrite);

/// The picture of candidate `index` of the list. Its title has the beam, where each file is one, and whether the pulse was
/// injected, which the file's samples do not show.
formats::figure::Figure candidate_figure(const SearchSummary& summary, std::size_t index);

/// FOLDER/candidate_0001.png ..., best first: profile, frequency against time and DM against time of each of
/// `summary.pictures`. Each gets its name when it is whole.
class CandidatePictureFiles {
 public:
  /// Makes the folder, and locks it unless it is `locked`, which the search locks. Throws Error(io) where another run has
  /// it.
  CandidatePictureFiles(const std::string& folder, bool overwrite, const std::string& locked = {});
  ~CandidatePictureFiles();

  /// Those that were not drawn yet.
  void draw(const SearchSummary& summary);
  /// Of those that were drawn.
  const std::vector<std::string>& paths() const { return paths_; }

 private:
  struct Folders;
  std::unique_ptr<Folders> folders_;
  bool overwrite_;
  std::vector<std::string> paths_;
};

}  // namespace tautline::pipeline

#include "tautline/pipeline/search/cutout_folder.h"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "tautline/pipeline/search/drawn_files.h"

namespace tautline::pipeline {

CutoutFolder::CutoutFolder(std::string path, const std::string& list, bool overwrite)
    : folder_("cutout_folder", std::move(path)), overwrite_(overwrite) {
  formats::cutout_hdf5::require(folder_.path());
  folder_.lock();
  // Their names are known when the search is done, which is late for a refusal.
  require_no_others(kCutoutFiles, list, folder_.path(), overwrite);
}

std::string CutoutFolder::name_of(const formats::candidates::YourCandidate& candidate,
                                  const formats::FilterbankDescription& description,
                                  const std::size_t* beam) {
  std::string name = formats::candidates::your_id(candidate, description.tstart_mjd);
  if (beam != nullptr) name += fmt::format("_beam_{}", *beam);
  return name + ".h5";
}

void CutoutFolder::write(const formats::cutout_hdf5::Cutout& cutout,
                         const formats::FilterbankDescription& description,
                         const std::size_t* beam) {
  const std::string name = name_of(cutout.candidate, description, beam);
  formats::PartialPath file((std::filesystem::path(folder_.path()) / name).string(), overwrite_);
  {
    const std::scoped_lock alone(writing_);
    formats::cutout_hdf5::write(file.partial(), file.path(), cutout, description);
  }
  file.finish();
}

}  // namespace tautline::pipeline

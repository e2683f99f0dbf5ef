#include "tautline/pipeline/search/cutout_folder.h"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "tautline/core/error.h"

namespace tautline::pipeline {

namespace {

bool is_cutout(const std::filesystem::path& path) {
  return path.extension() == ".h5" && path.filename().string().starts_with("cand_tstart_");
}

}  // namespace

CutoutFolder::CutoutFolder(std::string path, bool overwrite)
    : folder_("cutout_folder", std::move(path)), overwrite_(overwrite) {
  formats::cutout_hdf5::require(folder_.path());
  // Their names are known when the search is done, which is late for a refusal.
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
    if (!overwrite && is_cutout(entry.path()))
      throw core::Error(core::ErrorKind::io, "cutout_folder",
                        folder_.path() + ", which holds " + entry.path().filename().string(),
                        "a folder without cut-outs", "give `overwrite` or another name");
}

void CutoutFolder::write(const formats::cutout_hdf5::Cutout& cutout,
                         const formats::FilterbankDescription& description,
                         const std::size_t* beam) {
  std::string name = formats::candidates::your_id(cutout.candidate, description.tstart_mjd);
  if (beam != nullptr) name += fmt::format("_beam_{}", *beam);
  formats::PartialPath file((std::filesystem::path(folder_.path()) / (name + ".h5")).string(),
                            overwrite_);
  {
    const std::scoped_lock alone(writing_);
    formats::cutout_hdf5::write(file.partial(), file.path(), cutout, description);
  }
  file.finish();
}

}  // namespace tautline::pipeline

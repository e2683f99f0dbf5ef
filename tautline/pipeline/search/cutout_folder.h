// The folder that a search puts cut-outs of its candidates into.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tautline/formats/cutout_hdf5/cutout_hdf5.h"
#include "tautline/formats/output_folder.h"
#include "tautline/formats/partial_file.h"

namespace tautline::pipeline {

class CutoutFolder {
 public:
  /// Throws Error(io) where the folder cannot be made, or holds cut-outs and nothing may be
  /// overwritten; Error(unsupported) where HDF5 is not there.
  CutoutFolder(std::string path, bool overwrite);

  /// Under a temporary name. `beam`: of several that are searched together; it is in the name.
  void write(const formats::cutout_hdf5::Cutout& cutout,
             const formats::FilterbankDescription& description, const std::size_t* beam);
  void publish();

  const std::string& path() const { return folder_.path(); }
  std::size_t count() const { return files_.size(); }

 private:
  formats::OutputFolder folder_;
  bool overwrite_;
  std::vector<std::unique_ptr<formats::PartialPath>> files_;  // in the folder: they go first
};

}  // namespace tautline::pipeline

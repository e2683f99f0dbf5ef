// The folder that a search puts cut-outs of its candidates into.
#pragma once

#include <cstddef>
#include <mutex>
#include <string>

#include "tautline/formats/cutout_hdf5/cutout_hdf5.h"
#include "tautline/formats/output_folder.h"
#include "tautline/formats/partial_file.h"

namespace tautline::pipeline {

class CutoutFolder {
 public:
  /// Locks the folder. Throws Error(io) where it cannot be made, another run has it, or it holds cut-outs of others than
  /// `list`, or any and nothing may be overwritten; Error(unsupported) where HDF5 is not there.
  CutoutFolder(std::string path, const std::string& list, bool overwrite);

  /// Of a candidate that is found in this file; without `beam`, as for write().
  static std::string name_of(const formats::candidates::YourCandidate& candidate,
                             const formats::FilterbankDescription& description,
                             const std::size_t* beam);

  /// Each has its final name when it is whole. From several threads. `beam`: of several that are searched together; it
  /// is in the name.
  void write(const formats::cutout_hdf5::Cutout& cutout,
             const formats::FilterbankDescription& description, const std::size_t* beam);

  const std::string& path() const { return folder_.path(); }

 private:
  formats::OutputFolder folder_;
  bool overwrite_;
  std::mutex writing_;  // HDF5 takes one call at a time
};

}  // namespace tautline::pipeline

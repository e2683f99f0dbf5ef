// The message of a build without HDF5 about cut-outs.
#ifndef TAUTLINE_HDF5
#include "tautline/core/error.h"
#include "tautline/formats/cutout_hdf5/cutout_hdf5.h"

namespace tautline::formats {

void cutout_hdf5::require(const std::string& path) {
  throw core::Error(core::ErrorKind::unsupported, path, "cut-outs", "a build with HDF5",
                    "install libhdf5-dev and build with -DTAUTLINE_HDF5=ON");
}

void cutout_hdf5::write(const std::string&, const std::string& path, const Cutout&,
                        const FilterbankDescription&) {
  require(path);
}

bool cutout_hdf5::holds_cutout(const std::string&) {
  return false;
}

cutout_hdf5::CutoutFile cutout_hdf5::read(const std::string& path) {
  require(path);
  return {};
}

}  // namespace tautline::formats
#endif

#include "tautline/formats/visibility_reader.h"

#include "tautline/core/error.h"
#ifdef TAUTLINE_HDF5
#include "tautline/formats/uvh5/uvh5_reader.h"
#endif

namespace tautline::formats {

std::unique_ptr<VisibilityReader> open_visibilities(const std::string& path) {
#ifdef TAUTLINE_HDF5
  return uvh5::open(path);
#else
  throw core::Error(core::ErrorKind::unsupported, path, "a visibility file",
                    "a build that reads UVH5",
                    "install libhdf5-dev and build with -DTAUTLINE_HDF5=ON");
#endif
}

}  // namespace tautline::formats

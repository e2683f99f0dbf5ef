#include <string_view>

#include "tautline/core/error.h"
#include "tautline/formats/visibility_writer.h"
#ifdef TAUTLINE_HDF5
#include "tautline/formats/uvh5/uvh5_writer.h"
#endif
#ifdef TAUTLINE_CASACORE
#include "tautline/formats/measurement_set/measurement_set_writer.h"
#endif

namespace tautline::formats {

std::unique_ptr<VisibilityWriter> create_visibilities(const std::string& path,
                                                      const VisibilityDescription& description,
                                                      bool overwrite) {
  using core::Error;
  using core::ErrorKind;
  std::string name = path;
  while (name.size() > 1 && name.back() == '/') name.pop_back();  // folders are often named so
  const auto ends = [&](std::string_view ending) { return name.ends_with(ending); };
  if (ends(".uvh5")) {
#ifdef TAUTLINE_HDF5
    return uvh5::create(name, description, overwrite);
#else
    throw Error(ErrorKind::unsupported, path, "UVH5", "a build with HDF5",
                "install libhdf5-dev and build with -DTAUTLINE_HDF5=ON");
#endif
  }
  if (ends(".ms")) {
#ifdef TAUTLINE_CASACORE
    return measurement_set::create(name, description, overwrite);
#else
    throw Error(ErrorKind::unsupported, path, "Measurement Set", "a build with casacore",
                "install casacore-dev and build with -DTAUTLINE_CASACORE=ON, or write .uvh5");
#endif
  }
  throw Error(ErrorKind::config, "output", path, "a name ending in .uvh5 or .ms");
}

}  // namespace tautline::formats

#include "tautline/core/error.h"
#include "tautline/formats/file_formats.h"
#include "tautline/formats/measurement_set/contents.h"
#include "tautline/formats/measurement_set/measurement_set_reader.h"
#include "tautline/formats/measurement_set/measurement_set_writer.h"
#include "tautline/formats/uvh5/uvh5.h"
#include "tautline/formats/visibility_reader.h"
#include "tautline/formats/visibility_writer.h"

namespace tautline::formats {

using core::Error;
using core::ErrorKind;

#ifndef TAUTLINE_HDF5
std::unique_ptr<VisibilityReader> uvh5::open(const std::string& path) {
  throw Error(ErrorKind::unsupported, path, "a visibility file", "a build that reads UVH5",
              "install libhdf5-dev and build with -DTAUTLINE_HDF5=ON");
}

std::unique_ptr<VisibilityWriter> uvh5::create(const std::string& path,
                                               const VisibilityDescription&, bool) {
  throw Error(ErrorKind::unsupported, path, "UVH5", "a build with HDF5",
              "install libhdf5-dev and build with -DTAUTLINE_HDF5=ON");
}
#endif

#ifndef TAUTLINE_CASACORE
std::unique_ptr<VisibilityWriter> measurement_set::create(const std::string& path,
                                                          const VisibilityDescription&, bool) {
  throw Error(ErrorKind::unsupported, path, "Measurement Set", "a build with casacore",
              "install casacore-dev and build with -DTAUTLINE_CASACORE=ON, or write .uvh5");
}

std::unique_ptr<VisibilityReader> measurement_set::open(const std::string& path) {
  throw Error(ErrorKind::unsupported, path, "Measurement Set", "a build with casacore",
              "install casacore-dev and build with -DTAUTLINE_CASACORE=ON");
}

measurement_set::Contents measurement_set::contents_of(const std::string& path) {
  throw Error(ErrorKind::unsupported, path, "Measurement Set", "a build with casacore",
              "install casacore-dev and build with -DTAUTLINE_CASACORE=ON");
}
#endif

// Folders are often named with a slash at the end.
static std::string without_slash(std::string name) {
  while (name.size() > 1 && name.back() == '/') name.pop_back();
  return name;
}

void require_visibility_name(const std::string& field, const std::string& path) {
  if (find_format(&FileFormat::write_visibilities, {}, without_slash(path)) == nullptr)
    throw Error(ErrorKind::config, field, path,
                "a name ending in " + endings_of(formats_with(&FileFormat::write_visibilities)));
}

std::unique_ptr<VisibilityWriter> create_visibilities(const std::string& path,
                                                      const VisibilityDescription& description,
                                                      bool overwrite) {
  const std::string name = without_slash(path);
  require_visibility_name("output", name);
  return find_format(&FileFormat::write_visibilities, {}, name)
      ->write_visibilities(name, description, overwrite);
}

std::unique_ptr<VisibilityReader> open_visibilities(const std::string& path) {
  // Under any name: the reader reports the fault of a file of another format.
  if (const FileFormat* format = find_format(&FileFormat::visibilities, {}, without_slash(path)))
    return format->visibilities(path);
  return formats_with(&FileFormat::visibilities).front().visibilities(path);
}

}  // namespace tautline::formats

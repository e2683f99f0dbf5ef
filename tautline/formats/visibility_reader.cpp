#include "tautline/formats/visibility_reader.h"

#include "tautline/core/error.h"
#include "tautline/formats/file_formats.h"
#include "tautline/formats/uvh5/uvh5_reader.h"

namespace tautline::formats {

#ifndef TAUTLINE_HDF5
std::unique_ptr<VisibilityReader> uvh5::open(const std::string& path) {
  throw core::Error(core::ErrorKind::unsupported, path, "a visibility file",
                    "a build that reads UVH5",
                    "install libhdf5-dev and build with -DTAUTLINE_HDF5=ON");
}
#endif

std::unique_ptr<VisibilityReader> open_visibilities(const std::string& path) {
  // Under any name: the reader says what is wrong with a file that is not its own.
  const FileFormat* format = find_format(&FileFormat::visibilities, {}, path);
  if (format != nullptr) return format->visibilities(path);
  return formats_with(&FileFormat::visibilities).front().visibilities(path);
}

}  // namespace tautline::formats

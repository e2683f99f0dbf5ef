// The messages of a build about pictures, with Cairo or without.
#include "tautline/core/error.h"
#include "tautline/formats/picture/picture.h"

namespace tautline::formats::picture {

bool recognise(const std::string& path) {
  return path.ends_with(".png") || path.ends_with(".svg") || path.ends_with(".pdf");
}

#ifndef TAUTLINE_CAIRO
void require(const std::string& path) {
  throw core::Error(core::ErrorKind::unsupported, path, "a picture", "a build with Cairo",
                    "install libcairo2-dev and build with -DTAUTLINE_CAIRO=ON, or write .html");
}

void write(const std::string& path, const figure::Figure&, bool) {
  require(path);
}
#endif

}  // namespace tautline::formats::picture

// A figure as a picture in a file: PNG, SVG or PDF, drawn by Cairo.
#pragma once

#include <string>

#include "tautline/formats/figure/figure.h"

namespace tautline::formats::picture {

/// Whether a name ends in .png, .svg or .pdf.
bool recognise(const std::string& path);

/// For the time before a run whose end is a picture: throws what write() would where no picture can be drawn.
void require(const std::string& path);

/// Draws with a light background, 1,200 pixels wide. Throws Error(unsupported) in a build without Cairo, Error(io) with
/// the path and the reason; an existing file is refused unless `overwrite`, and nothing half-written is left.
void write(const std::string& path, const figure::Figure& figure, bool overwrite);

}  // namespace tautline::formats::picture

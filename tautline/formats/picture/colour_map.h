// Colour maps made in OKLab, where equal steps look equally large: those of web/colour.js.
#pragma once

#include "tautline/formats/figure/figure.h"
#include "tautline/formats/picture/canvas.h"

namespace tautline::formats::picture {

/// `part`: 0 to 1, clipped.
Colour colour_at(figure::ColourMap map, double part);

/// The colour of the line with this number in a panel; colours differ in grey and for any colour vision.
Colour colour_of_line(std::size_t number);

}  // namespace tautline::formats::picture

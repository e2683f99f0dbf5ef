// One panel of a picture: its axes and the data in them.
#pragma once

#include "tautline/formats/figure/figure.h"
#include "tautline/formats/picture/canvas.h"

namespace tautline::formats::picture {

/// Room that a panel needs around its axes.
struct Margins {
  double left = 0, right = 0, top = 0, bottom = 0;
};

/// `height` of the axes and `width` of the whole panel are those that it will be drawn with.
Margins margins_of(const Canvas& canvas, const figure::Panel& panel, double width, double height);

/// The same for axes `axes_width` wide: the rows of the key depend on it.
double top_margin(const Canvas& canvas, const figure::Panel& panel, double axes_width);

/// `axes`: the frame of the data.
void draw_panel(const Canvas& canvas, const figure::Panel& panel, const Box& axes,
                const Margins& margins);

}  // namespace tautline::formats::picture

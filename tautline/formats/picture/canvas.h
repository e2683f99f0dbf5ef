// Cairo behind the few calls that a figure needs: text in one font, strokes and discs.
#pragma once

#include <cairo.h>

#include <cstdint>
#include <string>
#include <vector>

namespace tautline::formats::picture {

struct Colour {
  double red = 0, green = 0, blue = 0, alpha = 1;
};

inline constexpr Colour kInk{0.09, 0.13, 0.17}, kMuted{0.33, 0.39, 0.44}, kGrid{0.89, 0.91, 0.93},
    kNothing{0.93, 0.94, 0.95}, kHatch{0.78, 0.81, 0.84};

/// Sizes of text, in the picture's pixels.
inline constexpr double kTitleSize = 26, kPanelSize = 20, kLabelSize = 18, kTickSize = 16.5;

struct Box {
  double left = 0, top = 0, width = 0, height = 0;
  double right() const { return left + width; }
  double bottom() const { return top + height; }
};

/// Horizontal and vertical place of a text at its point: 0 left or top, 0.5 middle, 1 right or bottom.
struct Anchor {
  double x = 0, y = 0;
};

class Canvas {
 public:
  /// Takes the surface. Throws std::exception where Cairo refuses.
  explicit Canvas(cairo_surface_t* surface);
  ~Canvas();
  Canvas(const Canvas&) = delete;
  Canvas& operator=(const Canvas&) = delete;

  cairo_t* get() const { return context_; }
  cairo_surface_t* surface() const { return surface_; }
  void colour(const Colour& colour) const;
  double width_of(const std::string& text, double size) const;
  /// `text`, shortened with an ellipsis until it is at most `most` wide.
  std::string shortened(const std::string& text, double size, double most) const;
  /// `text` in lines that are at most `most` wide: broken at spaces, a longer word shortened.
  std::vector<std::string> wrapped(const std::string& text, double size, double most) const;
  void text(const std::string& text, double size, double x, double y, Anchor anchor,
            const Colour& colour = kInk) const;
  /// Reads from below to above, its middle at (x, y).
  void text_upwards(const std::string& text, double size, double x, double y,
                    const Colour& colour = kInk) const;
  void line(double x0, double y0, double x1, double y1, double width, const Colour& colour) const;
  void fill(const Box& box, const Colour& colour) const;
  void frame(const Box& box) const;
  /// Where there is no data.
  void hatch(const Box& box) const;

 private:
  cairo_surface_t* surface_;
  cairo_t* context_;
};

}  // namespace tautline::formats::picture

// A figure as plain data: panels with axes, lines, points and images. Readers of files make it; the page
// (pipeline/report/figure_page.h) and pictures (formats/picture/picture.h) draw it. docs/design/plot.md.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace tautline::formats::figure {

enum class Scale { linear, logarithmic };

struct Axis {
  std::string label, unit;  ///< "time", "s"; an empty unit: a pure number
  Scale scale = Scale::linear;
  double low = 0, high = 1;  ///< low < high; of a logarithmic axis both above 0
  std::vector<std::string> names =
      {};                  ///< of places: names[k] stands for [k, k + 1); empty: numbers
  bool downwards = false;  ///< of a panel's y: low is at the top
};

enum class Style { line, points, dashes };

struct Line {
  std::string name;  ///< in the key; empty: not shown in the key
  Style style = Style::line;
  std::vector<double> x, y;           ///< NaN in y leaves a gap
  std::vector<double> error = {};     ///< standard error of each y; empty: none
  std::vector<double> strength = {};  ///< of points: their area and colour; empty: all alike
};

enum class ColourMap { amplitude, phase };

/// Cells of equal size that fill the panel's axes. Row 0 is at y.low, column 0 at x.low.
struct Image {
  std::size_t rows = 0, columns = 0;
  std::vector<float> values;  ///< [row][column]; NaN: no data
  Axis colour;                ///< the meaning of the values, and the drawn range
  ColourMap map = ColourMap::amplitude;
};

struct Panel {
  std::string title;
  Axis x, y;
  Image image = {};  ///< without rows: none
  std::vector<Line> lines = {};
  std::vector<std::pair<double, double>> empty = {};  ///< ranges of x without data
  bool wide = true;                                   ///< false: two stand side by side
  bool tall = false;
};

struct Figure {
  std::string title;
  std::vector<std::pair<std::string, std::string>> facts = {};  ///< "samples", "65,536"; in order
  std::vector<Panel> panels = {};
  std::vector<std::string> notes = {};  ///< facts that a reader needs to trust the figure
};

/// "time (s)"; the label alone where there is no unit.
std::string caption(const Axis& axis);

/// Throws Error(format) with `path` where there is nothing to draw: no panel has a finite value.
void require_something(const Figure& figure, const std::string& path);

/// Range of the finite values, widened by 4 per cent on each side; an empty or a single one gets some room.
void fit_axis(Axis& axis, const std::vector<double>& values);
/// Range of the colours: the given quantiles of the finite values.
void fit_colours(Image& image, double low_quantile = 0.005, double high_quantile = 0.995);

struct Tick {
  double value = 0;
  std::string text;
};
/// At most about `most` round numbers of an axis, in its range.
std::vector<Tick> ticks(const Axis& axis, double most);

/// The unit in which times up to `span_s` read best, and how many seconds it has.
std::pair<std::string, double> time_unit(double span_s);

}  // namespace tautline::formats::figure

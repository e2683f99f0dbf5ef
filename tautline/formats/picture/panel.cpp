#include "tautline/formats/picture/panel.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "tautline/formats/picture/colour_map.h"

namespace tautline::formats::picture {

namespace {

using figure::Axis;
using figure::Line;
using figure::Panel;
using figure::Scale;
using figure::Style;
using figure::Tick;

constexpr double kTickLength = 6, kGap = 7;
constexpr double kBarWidth = 16, kBarGap = 14;
constexpr double kKeyHeight = 25, kKeySample = 30, kKeyGap = 22;

double most_across(double width) {
  return width / 110;
}
// Names are all wanted, as far as there is room.
double most_upwards(const Axis& axis, double height) {
  return height / (axis.names.empty() ? 44 : 24);
}

double part_of(const Axis& axis, double value) {
  if (axis.scale == Scale::logarithmic)
    return value > 0 ? std::log(value / axis.low) / std::log(axis.high / axis.low) : -1;
  return (value - axis.low) / (axis.high - axis.low);
}

double widest(const Canvas& canvas, const std::vector<Tick>& ticks) {
  double width = 0;
  for (const Tick& tick : ticks) width = std::max(width, canvas.width_of(tick.text, kTickSize));
  return width;
}

// Names of a y axis: at most so wide, as a part of the panel, and so far apart in lines.
constexpr double kWidestName = 0.35, kNameLine = 19;

// A tick's text in lines that fit between its neighbours; names that are longer end with an ellipsis.
std::vector<std::string> tick_lines(const Canvas& canvas, const std::string& text, double width,
                                    double apart) {
  std::vector<std::string> lines = canvas.wrapped(text, kTickSize, width);
  const auto most = static_cast<std::size_t>(std::max(1.0, std::floor(apart / kNameLine)));
  if (lines.size() <= most) return lines;
  std::string rest = lines[most - 1];
  for (std::size_t k = most; k < lines.size(); ++k) rest += " " + lines[k];
  lines.resize(most);
  lines.back() = canvas.shortened(rest, kTickSize, width);
  return lines;
}

bool has_image(const Panel& panel) {
  return panel.image.rows > 0 && panel.image.columns > 0;
}

// Names of lines, in rows as wide as the panel.
struct Key {
  std::size_t line = 0;
  double x = 0;
  std::size_t row = 0;
};

std::vector<Key> key_of(const Canvas& canvas, const Panel& panel, double width) {
  std::vector<Key> keys;
  double x = 0;
  std::size_t row = 0;
  for (std::size_t k = 0; k < panel.lines.size(); ++k) {
    if (panel.lines[k].name.empty()) continue;
    const double size = kKeySample + 8 + canvas.width_of(panel.lines[k].name, kTickSize) + kKeyGap;
    if (x > 0 && x + size > width) {
      x = 0;
      ++row;
    }
    keys.push_back({k, x, row});
    x += size;
  }
  return keys;
}

class Drawing {
 public:
  Drawing(const Canvas& canvas, const Panel& panel, const Box& axes)
      : canvas_(canvas), panel_(panel), axes_(axes) {}

  double x_of(double value) const { return axes_.left + part_of(panel_.x, value) * axes_.width; }
  double y_of(double value) const {
    const double part = part_of(panel_.y, value);
    return axes_.top + (panel_.y.downwards ? part : 1 - part) * axes_.height;
  }

  void data() const {
    cairo_save(canvas_.get());
    cairo_rectangle(canvas_.get(), axes_.left, axes_.top, axes_.width, axes_.height);
    cairo_clip(canvas_.get());
    if (has_image(panel_)) {
      canvas_.hatch(axes_);
      image();
    } else {
      grid();
    }
    for (const auto& [first, last] : panel_.empty)
      canvas_.hatch(
          {x_of(first), axes_.top, std::max(1.0, x_of(last) - x_of(first)), axes_.height});
    for (std::size_t k = 0; k < panel_.lines.size(); ++k) line(panel_.lines[k], colour_of_line(k));
    cairo_restore(canvas_.get());
  }

  void x_axis() const {
    for (const Tick& tick : figure::ticks(panel_.x, most_across(axes_.width))) {
      const double x = x_of(tick.value);
      canvas_.line(x, axes_.bottom(), x, axes_.bottom() + kTickLength, 1.2, kMuted);
      canvas_.text(tick.text, kTickSize, x, axes_.bottom() + kTickLength + kGap, {0.5, 0}, kMuted);
    }
    canvas_.text(figure::caption(panel_.x), kLabelSize, axes_.left + axes_.width / 2,
                 axes_.bottom() + kTickLength + kGap + kTickSize + kGap, {0.5, 0});
  }

  void y_axis(double left_margin) const {
    const auto ticks = figure::ticks(panel_.y, most_upwards(panel_.y, axes_.height));
    const double room = (axes_.width + left_margin) * kWidestName;
    const double apart = axes_.height / static_cast<double>(std::max<std::size_t>(1, ticks.size()));
    for (const Tick& tick : ticks) {
      const double y = y_of(tick.value);
      canvas_.line(axes_.left - kTickLength, y, axes_.left, y, 1.2, kMuted);
      const std::vector<std::string> lines = tick_lines(canvas_, tick.text, room, apart);
      const double first = y - kNameLine * static_cast<double>(lines.size() - 1) / 2;
      for (std::size_t k = 0; k < lines.size(); ++k)
        canvas_.text(lines[k], kTickSize, axes_.left - kTickLength - kGap,
                     first + kNameLine * static_cast<double>(k), {1, 0.5}, kMuted);
    }
    canvas_.text_upwards(figure::caption(panel_.y), kLabelSize,
                         axes_.left - left_margin + kLabelSize / 2 + 2,
                         axes_.top + axes_.height / 2);
  }

  void colour_bar() const {
    const Axis& colour = panel_.image.colour;
    const Box bar{axes_.right() + kBarGap, axes_.top, kBarWidth, axes_.height};
    for (double y = 0; y < bar.height; ++y)
      canvas_.fill({bar.left, bar.bottom() - y - 1, bar.width, std::min(1.5, bar.height - y)},
                   colour_at(panel_.image.map, y / bar.height));
    canvas_.frame(bar);
    double width = 0;
    for (const Tick& tick : figure::ticks(colour, most_upwards(colour, bar.height))) {
      const double y = bar.bottom() - part_of(colour, tick.value) * bar.height;
      canvas_.line(bar.right(), y, bar.right() + kTickLength, y, 1.2, kMuted);
      canvas_.text(tick.text, kTickSize, bar.right() + kTickLength + kGap, y, {0, 0.5}, kMuted);
      width = std::max(width, canvas_.width_of(tick.text, kTickSize));
    }
    canvas_.text_upwards(figure::caption(colour), kLabelSize,
                         bar.right() + kTickLength + 2 * kGap + width + kLabelSize / 2,
                         bar.top + bar.height / 2);
  }

  void heading(const Margins& margins) const {
    double y = axes_.top - margins.top + 6;
    canvas_.text(canvas_.shortened(panel_.title, kPanelSize, axes_.width + margins.right),
                 kPanelSize, axes_.left, y, {0, 0});
    y += kPanelSize + 7;
    for (const Key& key : key_of(canvas_, panel_, axes_.width)) {
      const double x = axes_.left + key.x;
      const double middle = y + static_cast<double>(key.row) * kKeyHeight + kTickSize * 0.37;
      sample(panel_.lines[key.line], colour_of_line(key.line), x, middle);
      canvas_.text(panel_.lines[key.line].name, kTickSize, x + kKeySample + 8, middle, {0, 0.5},
                   kMuted);
    }
  }

 private:
  void grid() const {
    for (const Tick& tick : figure::ticks(panel_.x, most_across(axes_.width)))
      canvas_.line(x_of(tick.value), axes_.top, x_of(tick.value), axes_.bottom(), 1, kGrid);
    for (const Tick& tick : figure::ticks(panel_.y, most_upwards(panel_.y, axes_.height)))
      canvas_.line(axes_.left, y_of(tick.value), axes_.right(), y_of(tick.value), 1, kGrid);
  }

  void image() const {
    const figure::Image& from = panel_.image;
    cairo_surface_t* const cells = cairo_image_surface_create(
        CAIRO_FORMAT_ARGB32, static_cast<int>(from.columns), static_cast<int>(from.rows));
    cairo_surface_flush(cells);
    unsigned char* const bytes = cairo_image_surface_get_data(cells);
    const auto stride = static_cast<std::size_t>(cairo_image_surface_get_stride(cells));
    for (std::size_t row = 0; bytes != nullptr && row < from.rows; ++row) {
      const std::size_t below_top = panel_.y.downwards ? row : from.rows - 1 - row;
      auto* const pixels = reinterpret_cast<std::uint32_t*>(bytes + below_top * stride);
      for (std::size_t c = 0; c < from.columns; ++c)
        pixels[c] = pixel(from, from.values[row * from.columns + c]);
    }
    cairo_surface_mark_dirty(cells);
    cairo_t* const to = canvas_.get();
    cairo_save(to);
    cairo_translate(to, axes_.left, axes_.top);
    const double across = axes_.width / static_cast<double>(from.columns);
    const double down = axes_.height / static_cast<double>(from.rows);
    cairo_scale(to, across, down);
    cairo_set_source_surface(to, cells, 0, 0);
    // Cells stay sharp where they are larger than pixels; phases are never averaged across their cut.
    const bool sharp = from.map == figure::ColourMap::phase || (across >= 1 && down >= 1);
    cairo_pattern_set_filter(cairo_get_source(to),
                             sharp ? CAIRO_FILTER_NEAREST : CAIRO_FILTER_GOOD);
    cairo_pattern_set_extend(cairo_get_source(to), CAIRO_EXTEND_PAD);
    cairo_rectangle(to, 0, 0, static_cast<double>(from.columns), static_cast<double>(from.rows));
    cairo_fill(to);
    cairo_restore(to);
    cairo_surface_destroy(cells);
  }

  static std::uint32_t pixel(const figure::Image& from, float value) {
    if (!std::isfinite(value)) return 0;
    const Colour c = colour_at(from.map, part_of(from.colour, static_cast<double>(value)));
    const auto byte = [](double part) {
      return static_cast<std::uint32_t>(std::lround(255 * part));
    };
    return 0xFF000000u | byte(c.red) << 16 | byte(c.green) << 8 | byte(c.blue);
  }

  void line(const Line& line, const Colour& colour) const {
    errors(line, colour);
    if (line.style == Style::points) {
      points(line, colour);
      return;
    }
    cairo_t* const to = canvas_.get();
    canvas_.colour(colour);
    cairo_set_line_width(to, 2);
    cairo_set_line_join(to, CAIRO_LINE_JOIN_ROUND);
    const double dashes[] = {9, 6};
    if (line.style == Style::dashes) cairo_set_dash(to, dashes, 2, 0);
    bool drawing = false;
    std::size_t run = 0;
    for (std::size_t k = 0; k < line.x.size(); ++k) {
      const bool there = shown(line, k);
      if (there && drawing) cairo_line_to(to, x_of(line.x[k]), y_of(line.y[k]));
      if (there && !drawing) cairo_move_to(to, x_of(line.x[k]), y_of(line.y[k]));
      // A value alone between gaps would be invisible.
      run = there ? run + 1 : 0;
      if (run == 1 && (k + 1 == line.x.size() || !shown(line, k + 1)))
        cairo_line_to(to, x_of(line.x[k]) + 1.5, y_of(line.y[k]));
      drawing = there;
    }
    cairo_stroke(to);
    cairo_set_dash(to, nullptr, 0, 0);
  }

  bool shown(const Line& line, std::size_t k) const {
    return std::isfinite(line.y[k]) && (panel_.y.scale == Scale::linear || line.y[k] > 0) &&
           (panel_.x.scale == Scale::linear || line.x[k] > 0);
  }

  void errors(const Line& line, const Colour& colour) const {
    for (std::size_t k = 0; k < line.error.size(); ++k) {
      if (!shown(line, k) || !std::isfinite(line.error[k])) continue;
      const double low = panel_.y.scale == Scale::logarithmic
                             ? std::max(line.y[k] - line.error[k], panel_.y.low)
                             : line.y[k] - line.error[k];
      canvas_.line(x_of(line.x[k]), y_of(low), x_of(line.x[k]), y_of(line.y[k] + line.error[k]),
                   1.3, {colour.red, colour.green, colour.blue, 0.55});
    }
  }

  void points(const Line& line, const Colour& colour) const {
    double low = INFINITY, high = -INFINITY;
    for (const double strength : line.strength) {
      low = std::min(low, strength);
      high = std::max(high, strength);
    }
    // The strongest last, on top.
    std::vector<std::size_t> order(line.x.size());
    for (std::size_t k = 0; k < order.size(); ++k) order[k] = k;
    if (!line.strength.empty())
      std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return line.strength[a] < line.strength[b];
      });
    for (const std::size_t k : order) {
      if (!shown(line, k)) continue;
      const double part =
          line.strength.empty() || !(high > low) ? 0.5 : (line.strength[k] - low) / (high - low);
      disc(x_of(line.x[k]), y_of(line.y[k]), line.strength.empty() ? 3 : 3.5 + 10 * std::sqrt(part),
           line.strength.empty() ? colour
                                 : colour_at(figure::ColourMap::amplitude, 0.15 + 0.7 * part),
           !line.strength.empty());
    }
  }

  void disc(double x, double y, double radius, const Colour& colour, bool edge) const {
    cairo_t* const to = canvas_.get();
    cairo_arc(to, x, y, radius, 0, 6.283185307179586);
    canvas_.colour(colour);
    if (!edge) {
      cairo_fill(to);
      return;
    }
    cairo_fill_preserve(to);
    canvas_.colour(kMuted);
    cairo_set_line_width(to, 0.8);
    cairo_stroke(to);
  }

  void sample(const Line& line, const Colour& colour, double x, double y) const {
    if (line.style == Style::points) {
      disc(x + kKeySample / 2, y, 4, colour, false);
      return;
    }
    const double dashes[] = {9, 6};
    if (line.style == Style::dashes) cairo_set_dash(canvas_.get(), dashes, 2, 0);
    canvas_.line(x, y, x + kKeySample, y, 3, colour);
    cairo_set_dash(canvas_.get(), nullptr, 0, 0);
  }

  const Canvas& canvas_;
  const Panel& panel_;
  Box axes_;
};

}  // namespace

double top_margin(const Canvas& canvas, const Panel& panel, double axes_width) {
  const auto keys = key_of(canvas, panel, axes_width);
  return 6 + kPanelSize + 9 +
         (keys.empty() ? 0 : kKeyHeight * static_cast<double>(keys.back().row + 1));
}

Margins margins_of(const Canvas& canvas, const Panel& panel, double width, double height) {
  Margins margins;
  margins.left = kLabelSize + 2 * kGap + kTickLength +
                 std::min(widest(canvas, figure::ticks(panel.y, most_upwards(panel.y, height))),
                          kWidestName * width);
  margins.right = 16;
  if (has_image(panel))
    margins.right =
        kBarGap + kBarWidth + kTickLength + 3 * kGap + kLabelSize +
        widest(canvas, figure::ticks(panel.image.colour, most_upwards(panel.image.colour, height)));
  // The last tick's text may stand out.
  for (const Tick& tick : figure::ticks(panel.x, most_across(width)))
    if (tick.value == panel.x.high)
      margins.right = std::max(margins.right, canvas.width_of(tick.text, kTickSize) / 2 + 4);
  margins.top = top_margin(canvas, panel, width - margins.left - margins.right);
  margins.bottom = kTickLength + 2 * kGap + kTickSize + kLabelSize + 10;
  return margins;
}

void draw_panel(const Canvas& canvas, const Panel& panel, const Box& axes, const Margins& margins) {
  const Drawing drawing(canvas, panel, axes);
  drawing.heading(margins);
  drawing.data();
  canvas.frame(axes);
  drawing.x_axis();
  drawing.y_axis(margins.left);
  if (has_image(panel)) drawing.colour_bar();
}

}  // namespace tautline::formats::picture

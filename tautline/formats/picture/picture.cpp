#include "tautline/formats/picture/picture.h"

#include <cairo-pdf.h>
#include <cairo-svg.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <vector>

#include "tautline/core/error.h"
#include "tautline/formats/partial_file.h"
#include "tautline/formats/picture/panel.h"

namespace tautline::formats::picture {

namespace {

using figure::Figure;
using figure::Panel;

constexpr double kWidth = 1200, kBorder = 18, kBetween = 14, kLineHeight = 25;

struct Place {
  Box axes;
  Margins margins;
};

struct Layout {
  std::vector<Place> panels;
  std::vector<std::string> head;  // lines under the title
  std::vector<std::string> foot;
  double panels_top = 0, height = 0;
};

std::vector<std::string> head_of(const Canvas& canvas, const Figure& figure) {
  std::string text;
  for (const auto& [name, value] : figure.facts) {
    if (!text.empty()) text += "  \u00b7  ";
    // A fact stays on one line.
    std::string fact = name + "\u00a0" + value;
    std::replace(fact.begin(), fact.end(), ' ', '\x01');
    text += fact;
  }
  auto lines = text.empty() ? std::vector<std::string>{}
                            : canvas.wrapped(text, kTickSize, kWidth - 2 * kBorder);
  for (std::string& line : lines) {
    std::replace(line.begin(), line.end(), '\x01', ' ');
    while (line.ends_with(' ')) line.pop_back();
    if (line.ends_with("\u00b7")) line.resize(line.size() - 2);
  }
  return lines;
}

double axes_height(const Panel& panel) {
  const bool image = panel.image.rows > 0;
  return panel.tall ? (panel.wide ? 620 : 430) : image ? 400 : 250;
}

// Wide panels share margins, so that their axes of time stand below each other.
Layout lay_out(const Canvas& canvas, const Figure& figure) {
  Layout layout;
  layout.head = head_of(canvas, figure);
  for (const std::string& note : figure.notes)
    for (std::string& line : canvas.wrapped(note, kTickSize, kWidth - 2 * kBorder))
      layout.foot.push_back(std::move(line));
  double top = kBorder + kTitleSize + 12 + kLineHeight * static_cast<double>(layout.head.size());
  layout.panels_top = top;
  const double half = (kWidth - 2 * kBorder - kBetween) / 2;
  double left = 0, right = 0;
  for (const Panel& panel : figure.panels) {
    const double width = panel.wide ? kWidth - 2 * kBorder : half;
    layout.panels.push_back({{}, margins_of(canvas, panel, width, axes_height(panel))});
    if (!panel.wide) continue;
    left = std::max(left, layout.panels.back().margins.left);
    right = std::max(right, layout.panels.back().margins.right);
  }
  for (std::size_t k = 0; k < figure.panels.size(); ++k)
    if (figure.panels[k].wide)
      layout.panels[k].margins = {
          left, right, top_margin(canvas, figure.panels[k], kWidth - 2 * kBorder - left - right),
          layout.panels[k].margins.bottom};
  for (std::size_t k = 0; k < figure.panels.size();) {
    const bool pair =
        !figure.panels[k].wide && k + 1 < figure.panels.size() && !figure.panels[k + 1].wide;
    const std::size_t row = pair ? 2 : 1;
    double above = 0, height = 0, below = 0;
    for (std::size_t p = k; p < k + row; ++p) {
      above = std::max(above, layout.panels[p].margins.top);
      below = std::max(below, layout.panels[p].margins.bottom);
      height = std::max(height, axes_height(figure.panels[p]));
    }
    for (std::size_t p = k; p < k + row; ++p) {
      Place& place = layout.panels[p];
      const bool wide = figure.panels[p].wide;
      const double from = kBorder + (p > k ? half + kBetween : 0);
      const double width = wide ? kWidth - 2 * kBorder : half;
      place.axes = {from + place.margins.left, top + above,
                    width - place.margins.left - place.margins.right, height};
    }
    top += above + height + below + kBetween;
    k += row;
  }
  layout.height = top + kLineHeight * static_cast<double>(layout.foot.size()) + kBorder;
  return layout;
}

void draw(const Canvas& canvas, const Figure& figure, const Layout& layout) {
  canvas.fill({0, 0, kWidth, std::ceil(layout.height)}, {1, 1, 1});
  double y = kBorder;
  canvas.text(canvas.shortened(figure.title, kTitleSize, kWidth - 2 * kBorder), kTitleSize, kBorder,
              y, {0, 0});
  y += kTitleSize + 8;
  for (const std::string& line : layout.head) {
    canvas.text(line, kTickSize, kBorder, y, {0, 0}, kMuted);
    y += kLineHeight;
  }
  for (std::size_t k = 0; k < figure.panels.size(); ++k)
    draw_panel(canvas, figure.panels[k], layout.panels[k].axes, layout.panels[k].margins);
  y = layout.height - kBorder - kLineHeight * static_cast<double>(layout.foot.size()) + 4;
  for (const std::string& line : layout.foot) {
    canvas.text(line, kTickSize, kBorder, y, {0, 0}, kMuted);
    y += kLineHeight;
  }
}

// Cairo's output goes into the file; an exception must not pass through Cairo's C code.
struct Sink {
  PartialFile& file;
  std::exception_ptr failure = nullptr;

  static cairo_status_t take(void* sink, const unsigned char* bytes, unsigned int count) noexcept {
    auto* const to = static_cast<Sink*>(sink);
    try {
      if (to->failure == nullptr)
        to->file.write(std::span(reinterpret_cast<const std::byte*>(bytes), count));
      return CAIRO_STATUS_SUCCESS;
    } catch (...) {
      to->failure = std::current_exception();
      return CAIRO_STATUS_WRITE_ERROR;
    }
  }
  void check(cairo_status_t status) const {
    if (failure != nullptr) std::rethrow_exception(failure);
    if (status != CAIRO_STATUS_SUCCESS)
      throw core::Error(core::ErrorKind::io, file.path(), cairo_status_to_string(status), "");
  }
};

cairo_surface_t* make_surface(const std::string& path, double height, Sink& sink) {
  if (path.ends_with(".svg"))
    return cairo_svg_surface_create_for_stream(Sink::take, &sink, kWidth, height);
  if (path.ends_with(".pdf"))
    return cairo_pdf_surface_create_for_stream(Sink::take, &sink, kWidth, height);
  return cairo_image_surface_create(CAIRO_FORMAT_RGB24, static_cast<int>(kWidth),
                                    static_cast<int>(std::ceil(height)));
}

Layout measured(const Figure& figure) {
  const Canvas canvas(cairo_image_surface_create(CAIRO_FORMAT_RGB24, 1, 1));
  return lay_out(canvas, figure);
}

}  // namespace

void require(const std::string&) {}

void write(const std::string& path, const Figure& figure, bool overwrite) {
  PartialFile file(path, overwrite);
  Sink sink{file};
  const Layout layout = measured(figure);
  try {
    const Canvas canvas(make_surface(path, layout.height, sink));
    draw(canvas, figure, layout);
    sink.check(cairo_status(canvas.get()));
    if (path.ends_with(".png")) {
      sink.check(cairo_surface_write_to_png_stream(canvas.surface(), Sink::take, &sink));
    } else {
      cairo_surface_finish(canvas.surface());
      sink.check(cairo_surface_status(canvas.surface()));
    }
  } catch (const core::Error&) {
    throw;
  } catch (const std::exception& error) {
    throw core::Error(core::ErrorKind::io, path, error.what(), "");
  }
  file.finish();
}

}  // namespace tautline::formats::picture

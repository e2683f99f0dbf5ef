#include "tautline/formats/picture/canvas.h"

#include <cairo-ft.h>
#include <ft2build.h>
#include FT_FREETYPE_H

#include <algorithm>
#include <memory>
#include <stdexcept>

#include "tautline/formats/picture/font.h"

namespace tautline::formats::picture {

namespace {

// The font, and the library that it lives in. Cairo keeps both as long as it has glyphs of it.
struct LoadedFont {
  FT_Library library = nullptr;
  FT_Face face = nullptr;
  ~LoadedFont() {
    if (face != nullptr) FT_Done_Face(face);
    if (library != nullptr) FT_Done_FreeType(library);
  }
};

const cairo_user_data_key_t kFontKey{};

cairo_font_face_t* load_font() {
  auto font = std::make_unique<LoadedFont>();
  const std::string_view bytes = font_file("DejaVuSans.ttf");
  if (FT_Init_FreeType(&font->library) != 0 ||
      FT_New_Memory_Face(font->library, reinterpret_cast<const FT_Byte*>(bytes.data()),
                         static_cast<FT_Long>(bytes.size()), 0, &font->face) != 0)
    throw std::runtime_error("the font cannot be read");
  cairo_font_face_t* const face = cairo_ft_font_face_create_for_ft_face(font->face, 0);
  if (cairo_font_face_set_user_data(face, &kFontKey, font.get(), [](void* kept) {
        delete static_cast<LoadedFont*>(kept);
      }) != CAIRO_STATUS_SUCCESS) {
    cairo_font_face_destroy(face);
    throw std::bad_alloc();
  }
  font.release();
  return face;
}

}  // namespace

Canvas::Canvas(cairo_surface_t* surface) : surface_(surface), context_(cairo_create(surface)) {
  if (cairo_status(context_) != CAIRO_STATUS_SUCCESS) {
    const std::string reason = cairo_status_to_string(cairo_status(context_));
    cairo_destroy(context_);
    cairo_surface_destroy(surface_);
    throw std::runtime_error(reason);
  }
  cairo_font_face_t* const face = load_font();
  cairo_set_font_face(context_, face);
  cairo_font_face_destroy(face);
  // The same picture on every screen: no hints, and grey edges.
  cairo_font_options_t* const options = cairo_font_options_create();
  cairo_font_options_set_hint_style(options, CAIRO_HINT_STYLE_NONE);
  cairo_font_options_set_hint_metrics(options, CAIRO_HINT_METRICS_OFF);
  cairo_font_options_set_antialias(options, CAIRO_ANTIALIAS_GRAY);
  cairo_set_font_options(context_, options);
  cairo_font_options_destroy(options);
}

Canvas::~Canvas() {
  cairo_destroy(context_);
  cairo_surface_destroy(surface_);
}

void Canvas::colour(const Colour& c) const {
  cairo_set_source_rgba(context_, c.red, c.green, c.blue, c.alpha);
}

double Canvas::width_of(const std::string& text, double size) const {
  cairo_set_font_size(context_, size);
  cairo_text_extents_t extents;
  cairo_text_extents(context_, text.c_str(), &extents);
  return extents.x_advance;
}

std::string Canvas::shortened(const std::string& text, double size, double most) const {
  if (width_of(text, size) <= most) return text;
  std::string start = text;
  while (!start.empty()) {
    // A whole character of UTF-8.
    do start.pop_back();
    while (!start.empty() && (static_cast<unsigned char>(start.back()) & 0xC0) == 0x80);
    if (!start.empty() && static_cast<unsigned char>(start.back()) >= 0xC0) start.pop_back();
    if (width_of(start + "\u2026", size) <= most) break;
  }
  return start + "\u2026";
}

std::vector<std::string> Canvas::wrapped(const std::string& text, double size, double most) const {
  std::vector<std::string> lines{""};
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t next = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, next - at);
    const std::string longer = lines.back().empty() ? word : lines.back() + " " + word;
    if (!lines.back().empty() && width_of(longer, size) > most)
      lines.push_back(word);
    else
      lines.back() = longer;
    at = next + 1;
  }
  for (std::string& line : lines) line = shortened(line, size, most);
  return lines;
}

void Canvas::text(const std::string& text, double size, double x, double y, Anchor anchor,
                  const Colour& c) const {
  const double width = width_of(text, size);
  colour(c);
  // Capitals of this font are 0.73 of its size high.
  cairo_move_to(context_, x - anchor.x * width, y + (1 - anchor.y) * 0.73 * size);
  cairo_show_text(context_, text.c_str());
  cairo_new_path(context_);
}

void Canvas::text_upwards(const std::string& text, double size, double x, double y,
                          const Colour& c) const {
  cairo_save(context_);
  cairo_translate(context_, x, y);
  cairo_rotate(context_, -1.5707963267948966);
  this->text(text, size, 0, 0, {0.5, 0.5}, c);
  cairo_restore(context_);
}

void Canvas::line(double x0, double y0, double x1, double y1, double width, const Colour& c) const {
  colour(c);
  cairo_set_line_width(context_, width);
  cairo_move_to(context_, x0, y0);
  cairo_line_to(context_, x1, y1);
  cairo_stroke(context_);
}

void Canvas::fill(const Box& box, const Colour& c) const {
  colour(c);
  cairo_rectangle(context_, box.left, box.top, box.width, box.height);
  cairo_fill(context_);
}

void Canvas::frame(const Box& box) const {
  colour(kMuted);
  cairo_set_line_width(context_, 1.2);
  cairo_rectangle(context_, box.left, box.top, box.width, box.height);
  cairo_stroke(context_);
}

void Canvas::hatch(const Box& box) const {
  cairo_save(context_);
  cairo_rectangle(context_, box.left, box.top, box.width, box.height);
  cairo_clip(context_);
  fill(box, kNothing);
  for (double x = box.left - box.height; x < box.right(); x += 9)
    line(x, box.bottom(), x + box.height, box.top, 1, kHatch);
  cairo_restore(context_);
}

}  // namespace tautline::formats::picture

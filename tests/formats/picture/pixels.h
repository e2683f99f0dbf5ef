// A picture, decoded by Cairo itself.
#pragma once

#include <cairo.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

namespace tautline::tests {

struct Pixels {
  int width = 0, height = 0;
  std::vector<std::uint32_t> values;  // 0xRRGGBB

  explicit Pixels(const std::string& path) {
    cairo_surface_t* const surface = cairo_image_surface_create_from_png(path.c_str());
    EXPECT_EQ(cairo_surface_status(surface), CAIRO_STATUS_SUCCESS) << path;
    width = cairo_image_surface_get_width(surface);
    height = cairo_image_surface_get_height(surface);
    const unsigned char* const bytes = cairo_image_surface_get_data(surface);
    const int stride = cairo_image_surface_get_stride(surface);
    for (int y = 0; y < height; ++y)
      for (int x = 0; x < width; ++x)
        values.push_back(reinterpret_cast<const std::uint32_t*>(bytes + y * stride)[x] & 0xFFFFFF);
    cairo_surface_destroy(surface);
  }

  struct Box {
    int left = 1 << 20, right = -1, top = 1 << 20, bottom = -1;
    double x() const { return (left + right + 1) / 2.0; }
    double y() const { return (top + bottom + 1) / 2.0; }
  };
  // Of the pixels within 12 steps of this colour in each component.
  Box box_of(std::uint32_t colour) const {
    Box box;
    for (int y = 0; y < height; ++y)
      for (int x = 0; x < width; ++x) {
        const std::uint32_t value = values[static_cast<std::size_t>(y * width + x)];
        bool near = true;
        for (const int shift : {0, 8, 16})
          near = near && std::abs(static_cast<int>(value >> shift & 255) -
                                  static_cast<int>(colour >> shift & 255)) <= 12;
        if (!near) continue;
        box.left = std::min(box.left, x);
        box.right = std::max(box.right, x);
        box.top = std::min(box.top, y);
        box.bottom = std::max(box.bottom, y);
      }
    return box;
  }
};

inline constexpr std::uint32_t kBlue = 0x0A63B5;  // of the first line

}  // namespace tautline::tests

#include "tautline/formats/picture/colour_map.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace tautline::formats::picture {

namespace {

constexpr double kDegree = std::numbers::pi / 180;

double gamma_encoded(double linear) {
  const double c = std::clamp(linear, 0.0, 1.0);
  return c <= 0.0031308 ? 12.92 * c : 1.055 * std::pow(c, 1 / 2.4) - 0.055;
}

// OKLab (Ottosson 2020) to sRGB.
Colour of_oklab(double lightness, double chroma, double hue) {
  const double a = chroma * std::cos(hue), b = chroma * std::sin(hue);
  const double l = std::pow(lightness + 0.3963377774 * a + 0.2158037573 * b, 3);
  const double m = std::pow(lightness - 0.1055613458 * a - 0.0638541728 * b, 3);
  const double s = std::pow(lightness - 0.0894841775 * a - 1.2914855480 * b, 3);
  return {gamma_encoded(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
          gamma_encoded(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
          gamma_encoded(-0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s)};
}

}  // namespace

Colour colour_at(figure::ColourMap map, double part) {
  const double x = std::clamp(part, 0.0, 1.0);
  if (map == figure::ColourMap::phase) {
    const double phase = (2 * x - 1) * std::numbers::pi;
    const double side = std::sin(phase);
    return of_oklab(0.58 + 0.34 * std::cos(phase), 0.15 * std::fabs(side),
                    (side > 0 ? 55 : 255) * kDegree);
  }
  const double hue = (300 - 195 * std::pow(x, 0.9)) * kDegree;
  const double chroma = 0.045 + 0.115 * std::sin(std::numbers::pi * std::min(1.0, 0.08 + 0.9 * x));
  return of_oklab(0.17 + 0.77 * x, chroma, hue);
}

Colour colour_of_line(std::size_t number) {
  static constexpr Colour kLines[] = {{0.04, 0.39, 0.71}, {0.82, 0.34, 0.04}, {0.10, 0.55, 0.38},
                                      {0.56, 0.27, 0.68}, {0.48, 0.53, 0.58}, {0.70, 0.53, 0.02},
                                      {0.09, 0.63, 0.72}, {0.72, 0.11, 0.30}};
  return kLines[number % std::size(kLines)];
}

}  // namespace tautline::formats::picture

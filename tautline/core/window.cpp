#include "tautline/core/window.h"

#include <charconv>
#include <cmath>
#include <numbers>

#include "tautline/core/error.h"
#include "tautline/core/nearest_name.h"

namespace tautline::core {

namespace {

double sinc(double x) {
  if (x == 0) return 1;
  const double y = std::numbers::pi * x;
  return std::sin(y) / y;
}

// The modified Bessel function of order zero by its power series: every term positive.
double bessel_i0(double x) {
  const double quarter = x * x / 4;
  double term = 1, sum = 1;
  for (int k = 1; term > sum * 1e-18; ++k) {
    term *= quarter / (static_cast<double>(k) * k);
    sum += term;
  }
  return sum;
}

}  // namespace

Window parse_window(std::string_view text) {
  if (text == "rect") return {WindowKind::rect, 0};
  if (text == "hann") return {WindowKind::hann, 0};
  if (text == "hamming") return {WindowKind::hamming, 0};
  if (text.starts_with("kaiser:")) {
    const std::string_view number = text.substr(7);
    double beta = -1;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), beta);
    if (error == std::errc{} && end == number.data() + number.size() && beta >= 0 && beta <= 60)
      return {WindowKind::kaiser, beta};
  }
  throw Error(ErrorKind::config, "window", std::string(text),
              "hann, hamming, rect or kaiser:B with B from 0 to 60",
              did_you_mean(text, {"hann", "hamming", "rect", "kaiser:8"}));
}

std::string to_string(const Window& window) {
  switch (window.kind) {
    case WindowKind::rect: return "rect";
    case WindowKind::hann: return "hann";
    case WindowKind::hamming: return "hamming";
    case WindowKind::kaiser: break;
  }
  char digits[32];
  const auto result = std::to_chars(digits, digits + sizeof digits, window.beta);
  return "kaiser:" + std::string(digits, result.ptr);
}

double window_value(const Window& window, std::size_t n, std::size_t length) {
  const double centred = (static_cast<double>(n) + 0.5) / static_cast<double>(length);
  const double cosine = std::cos(2 * std::numbers::pi * centred);
  switch (window.kind) {
    case WindowKind::rect: return 1;
    case WindowKind::hann: return 0.5 - 0.5 * cosine;
    case WindowKind::hamming: return 0.54 - 0.46 * cosine;
    case WindowKind::kaiser: break;
  }
  const double r = 2 * centred - 1;
  return bessel_i0(window.beta * std::sqrt(std::fmax(0, 1 - r * r))) / bessel_i0(window.beta);
}

std::vector<double> prototype_filter(std::size_t channels, std::size_t taps, const Window& window,
                                     double cutoff) {
  const std::size_t length = channels * taps;
  std::vector<double> h(length);
  const bool plain_fft = taps == 1 && window.kind == WindowKind::rect;
  double power = 0;
  for (std::size_t n = 0; n < length; ++n) {
    const double x = (static_cast<double>(n) - (static_cast<double>(length) - 1) / 2) /
                     static_cast<double>(channels);
    h[n] = plain_fft ? 1.0 : sinc(cutoff * x) * window_value(window, n, length);
    power += h[n] * h[n];
  }
  const double scale = 1 / std::sqrt(power);
  for (double& value : h) value *= scale;
  return h;
}

}  // namespace tautline::core

#include "tautline/formats/figure/figure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tautline/core/error.h"

namespace tautline::formats::figure {

namespace {

bool any_finite(const std::vector<double>& values) {
  return std::any_of(values.begin(), values.end(), [](double v) { return std::isfinite(v); });
}

// U+2212, which is as wide as a plus.
std::string with_minus(std::string text) {
  return text.starts_with('-') ? "\u2212" + text.substr(1) : text;
}

// "10" and the power as superscript.
std::string power_of_ten(int power) {
  static const char* const kDigits[] = {"\u2070", "\u00b9", "\u00b2", "\u00b3", "\u2074",
                                        "\u2075", "\u2076", "\u2077", "\u2078", "\u2079"};
  if (power >= -1 && power <= 3)
    return fmt::format("{:.{}f}", std::pow(10, power), power < 0 ? 1 : 0);
  std::string text = power < 0 ? "10\u207b" : "10";
  for (const char digit : std::to_string(std::abs(power))) text += kDigits[digit - '0'];
  return text;
}

std::vector<Tick> round_numbers(const Axis& axis, double most);

std::vector<Tick> decades(const Axis& axis, double most) {
  const double low = std::log10(axis.low), high = std::log10(axis.high);
  const int step = std::max(1, static_cast<int>(std::ceil((high - low) / std::max(1.0, most))));
  std::vector<Tick> found;
  for (int power = static_cast<int>(std::ceil(low - 1e-9)); power <= high + 1e-9; power += step)
    found.push_back({std::pow(10, power), power_of_ten(power)});
  constexpr double kPlain = 1e-3, kLarge = 1e6;  // between them numbers are short
  if (found.size() >= 3 || (found.size() == 2 && (axis.low < kPlain || axis.high > kLarge)))
    return found;
  // Few decades: 1, 2 and 5 of each.
  found.clear();
  for (int power = static_cast<int>(std::floor(low)); power <= high; ++power)
    for (const int digit : {1, 2, 5}) {
      const double value = digit * std::pow(10, power);
      if (value >= axis.low * (1 - 1e-9) && value <= axis.high * (1 + 1e-9))
        found.push_back({value, fmt::format("{:g}", value)});
    }
  return found.size() < 2 ? round_numbers(axis, most) : found;
}

std::vector<Tick> named(const Axis& axis, double most) {
  const double span = axis.high - axis.low;
  const double wanted = std::ceil(span / std::max(1.0, most));
  // 1, 2, 5, 10, 20, ...
  std::size_t step = 1;
  for (std::size_t power = 1; static_cast<double>(step) < wanted; power *= 10)
    for (const std::size_t digit : {2, 5, 10})
      if (static_cast<double>(step) < wanted) step = digit * power;
  std::vector<Tick> found;
  for (std::size_t k = 0; k < axis.names.size(); k += step)
    if (static_cast<double>(k) + 0.5 >= axis.low && static_cast<double>(k) + 0.5 <= axis.high)
      found.push_back({static_cast<double>(k) + 0.5, axis.names[k]});
  return found;
}

// Decimals that tell multiples of `step` apart.
int decimals_of(double step) {
  for (int decimals = 0; decimals < 12; ++decimals) {
    const double scaled = step * std::pow(10, decimals);
    if (std::fabs(scaled - std::round(scaled)) < 1e-6 * scaled) return decimals;
  }
  return 12;
}

// Of a linear axis, or a logarithmic one of less than a decade.
std::vector<Tick> round_numbers(const Axis& axis, double most) {
  const double span = axis.high - axis.low;
  if (!(span > 0) || !std::isfinite(span)) return {};
  const bool circle = axis.low == -180 && axis.high == 180;
  const double raw = span / std::max(1.0, most);
  const double power = std::pow(10, std::floor(std::log10(raw)));
  double step = 10 * power;
  for (const double factor : {1.0, 2.0, 2.5, 5.0})
    if (factor * power >= raw * 0.999) {
      step = factor * power;
      break;
    }
  if (circle) step = raw > 60 ? 90 : 45;
  // Large and tiny numbers in powers of ten, so that labels stay short.
  const double largest = std::max(std::fabs(axis.low), std::fabs(axis.high));
  const bool plain = largest < 1e6 && step >= 1e-6;
  const int decimals = decimals_of(step);
  std::vector<Tick> found;
  for (double k = std::ceil(axis.low / step - 1e-9); k * step <= axis.high + 1e-9 * span; ++k) {
    const double value = k == 0 ? 0 : k * step;
    found.push_back({value, with_minus(plain ? fmt::format("{:.{}f}", value, decimals)
                                             : fmt::format("{:.4g}", value))});
  }
  return found;
}

}  // namespace

std::string caption(const Axis& axis) {
  return axis.unit.empty() ? axis.label : fmt::format("{} ({})", axis.label, axis.unit);
}

void require_something(const Figure& figure, const std::string& path) {
  for (const Panel& panel : figure.panels) {
    if (std::any_of(panel.image.values.begin(), panel.image.values.end(),
                    [](float v) { return std::isfinite(v); }))
      return;
    for (const Line& line : panel.lines)
      if (any_finite(line.y)) return;
  }
  throw core::Error(core::ErrorKind::format, path, "nothing to draw",
                    "at least one finite value in what is drawn",
                    "`inspect` says what the file holds");
}

void fit_axis(Axis& axis, const std::vector<double>& values) {
  const bool logarithmic = axis.scale == Scale::logarithmic;
  double low = INFINITY, high = -INFINITY;
  for (const double v : values) {
    if (!std::isfinite(v) || (logarithmic && v <= 0)) continue;
    low = std::min(low, v);
    high = std::max(high, v);
  }
  if (low > high) low = high = logarithmic ? 1 : 0;
  if (logarithmic) {
    const double room = low < high ? std::pow(high / low, 0.04) : 2;
    axis.low = low / room;
    axis.high = high * room;
    return;
  }
  const double room = low < high ? 0.04 * (high - low) : std::max(1e-12, 0.5 * std::fabs(low));
  axis.low = low == 0 && high == 0 ? -0.5 : low - room;
  axis.high = low == 0 && high == 0 ? 0.5 : high + room;
}

void fit_colours(Image& image, double low_quantile, double high_quantile) {
  std::vector<float> finite;
  for (const float v : image.values)
    if (std::isfinite(v)) finite.push_back(v);
  if (finite.empty()) return;
  const auto at = [&](double quantile) {
    const auto place =
        static_cast<std::ptrdiff_t>(quantile * static_cast<double>(finite.size() - 1));
    std::nth_element(finite.begin(), finite.begin() + place, finite.end());
    return static_cast<double>(finite[static_cast<std::size_t>(place)]);
  };
  image.colour.low = at(low_quantile);
  image.colour.high = at(high_quantile);
  if (!(image.colour.low < image.colour.high)) {
    const auto [low, high] = std::minmax_element(finite.begin(), finite.end());
    image.colour.low = static_cast<double>(*low);
    image.colour.high = static_cast<double>(*high);
  }
  if (!(image.colour.low < image.colour.high))
    image.colour.high = image.colour.low + std::max(1e-12, std::fabs(image.colour.low));
}

std::vector<Tick> ticks(const Axis& axis, double most) {
  if (!axis.names.empty()) return named(axis, most);
  if (axis.scale == Scale::logarithmic) return decades(axis, most);
  return round_numbers(axis, most);
}

std::pair<std::string, double> time_unit(double span_s) {
  if (span_s >= 3 * 3600) return {"h", 3600};
  if (span_s >= 600) return {"min", 60};
  if (span_s >= 1) return {"s", 1};
  if (span_s >= 1e-3) return {"ms", 1e-3};
  return {"\u00b5s", 1e-6};
}

}  // namespace tautline::formats::figure

#include "tautline/pipeline/plot/texts.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>

namespace tautline::pipeline::plot {

std::string grouped(std::uint64_t count) {
  std::string text = std::to_string(count);
  for (std::size_t at = text.size(); at > 3;) {
    at -= 3;
    text.insert(at, ",");
  }
  return text;
}

std::string in_hertz(double hz) {
  for (const auto& [scale, unit] : {std::pair{1e9, "GHz"}, {1e6, "MHz"}, {1e3, "kHz"}})
    if (std::fabs(hz) >= scale) return fmt::format("{:.6g} {}", hz / scale, unit);
  return fmt::format("{:.6g} Hz", hz);
}

std::string in_seconds(double seconds) {
  if (seconds == 0 || seconds >= 1) return fmt::format("{:.6g} s", seconds);
  for (const auto& [scale, unit] : {std::pair{1e-3, "ms"}, {1e-6, "\u00b5s"}})
    if (std::fabs(seconds) >= scale * 0.9999)
      return fmt::format("{:.6g} {}", seconds / scale, unit);
  return fmt::format("{:.6g} ns", seconds / 1e-9);
}

std::string name_of(const std::string& path) {
  std::string trimmed = path;
  while (trimmed.size() > 1 && trimmed.back() == '/') trimmed.pop_back();
  return std::filesystem::path(trimmed).filename().string();
}

formats::figure::Axis time_axis(double first_s, double span_s, double& scale) {
  const auto [unit, seconds] = formats::figure::time_unit(std::fabs(first_s) + span_s);
  scale = seconds;
  return axis("time", unit, first_s / seconds, (first_s + span_s) / seconds);
}

formats::figure::Axis axis(std::string label, std::string unit, double low, double high) {
  formats::figure::Axis made;
  made.label = std::move(label);
  made.unit = std::move(unit);
  made.low = low;
  made.high = high;
  return made;
}

std::string averaged_note(std::uint64_t samples_of_cell, std::uint64_t channels_of_cell) {
  if (samples_of_cell <= 1 && channels_of_cell <= 1) return {};
  std::string note = "A cell of the picture is the mean of ";
  if (samples_of_cell > 1) note += grouped(samples_of_cell) + " samples";
  if (samples_of_cell > 1 && channels_of_cell > 1) note += " and ";
  if (channels_of_cell > 1) note += grouped(channels_of_cell) + " channels";
  return note + ".";
}

}  // namespace tautline::pipeline::plot

#include "tautline/formats/text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdio>

#include "tautline/formats/input_file.h"
#include "tautline/formats/seeming_kind.h"

namespace tautline::formats {

std::vector<std::string> read_lines(const std::string& path) {
  constexpr std::size_t kMostBytes = std::size_t{64} << 20;
  const InputFile file(path);
  refuse_compressed(path, "text");
  if (file.size() > kMostBytes)
    throw format_error(path, "size", std::to_string(file.size()) + " bytes",
                       "at most 64 MiB of text", "is this a file of curves?");
  const auto bytes = file.head(kMostBytes);
  return lines_of(path, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

std::vector<std::string> lines_of(const std::string& path, std::string_view bytes) {
  std::vector<std::string> lines(1);
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    const char c = bytes[n];
    if (c == '\0')
      throw format_error(path, "byte " + std::to_string(n), "0", "text",
                         "is this a file of curves?");
    if (c == '\n')
      lines.emplace_back();
    else if (c != '\r')
      lines.back() += c;
  }
  return lines;
}

std::string_view trim(std::string_view text, std::string_view blanks) {
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

std::string lower(std::string_view text) {
  std::string made(text);
  std::transform(made.begin(), made.end(), made.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return made;
}

std::vector<std::string_view> split(std::string_view text, std::string_view separators,
                                    bool keep_empty) {
  std::vector<std::string_view> fields;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find_first_of(separators, at), text.size());
    if (keep_empty || end > at) fields.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return fields;
}

std::optional<double> number(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<double> finite_number(std::string_view text) {
  const auto value = number(text);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

std::optional<double> sexagesimal(const std::string& text, double scale) {
  double whole = 0, minutes = 0, seconds = 0;
  if (std::sscanf(text.c_str(), "%lf:%lf:%lf", &whole, &minutes, &seconds) != 3) return {};
  const double magnitude = std::abs(whole) + minutes / 60 + seconds / 3600;
  if (!std::isfinite(magnitude)) return {};
  return (text.front() == '-' ? -magnitude : magnitude) * scale;
}

std::vector<double> numbers(std::string_view line, std::string_view separators) {
  std::vector<double> values;
  for (const std::string_view field : split(line, separators)) {
    const auto value = number(trim(field));
    if (!value) return {};
    values.push_back(*value);
  }
  return values;
}

}  // namespace tautline::formats

#include "tautline/core/field_text.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>

#include "tautline/core/nearest_name.h"

namespace tautline::core {

namespace {

// The whole of `text` as a number; a plus sign may lead, as in option values.
template <class T>
bool parse(std::string_view text, T& value) {
  if (text.starts_with('+')) text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

}  // namespace

Limit between(double low, double high) {
  return {text::write_number(low) + " to " + text::write_number(high),
          [low, high](double value) { return value >= low && value <= high; }};
}

Limit at_least(double low) {
  return {text::write_number(low) + " or more",
          [low](double value) { return value >= low && std::isfinite(value); }};
}

Limit above(double low) {
  return {"above " + text::write_number(low),
          [low](double value) { return value > low && std::isfinite(value); }};
}

Limit one_of(std::vector<double> values) {
  std::string words;
  for (std::size_t i = 0; i < values.size(); ++i)
    words += (i == 0 ? "" : i + 1 == values.size() ? " or " : ", ") + text::write_number(values[i]);
  return {words, [values](double value) {
            return std::find(values.begin(), values.end(), value) != values.end();
          }};
}

namespace text {

void refuse(const std::string& value, const std::string& limit) {
  throw Error(ErrorKind::config, "", value, limit);
}

void refuse_name(const std::string& value, const std::string& limit,
                 const std::vector<std::string>& names) {
  constexpr std::size_t kLeastLetters = 4;  // any name of two letters is near one of three
  throw Error(ErrorKind::config, "", value, limit,
              value.size() < kLeastLetters ? "" : did_you_mean(value, names));
}

bool read_flag(const std::string& text) {
  if (text == "true") return true;
  if (text == "false") return false;
  refuse(text, "true or false");
}

std::int64_t read_integer(const std::string& text, std::int64_t low, std::int64_t high) {
  std::int64_t value = 0;
  if (!parse(text, value) || value < low || value > high) refuse(text, "a whole number");
  return value;
}

std::uint64_t read_unsigned(const std::string& text, std::uint64_t high) {
  std::uint64_t value = 0;
  if (!parse(text, value) || value > high) refuse(text, "a whole number of 0 or more");
  return value;
}

double read_number(const std::string& text) {
  double value = 0;
  if (!parse(text, value) || std::isnan(value)) refuse(text, "a number");
  return value;
}

namespace {

// Without those at its ends.
std::string without_blanks(const std::string& text) {
  const std::size_t first = text.find_first_not_of(' ');
  if (first == std::string::npos) return {};
  return text.substr(first, text.find_last_not_of(' ') + 1 - first);
}

struct TimeUnit {
  std::string_view name;
  int exponent;    // of ten
  double seconds;  // of those that are no power of ten
};
constexpr TimeUnit kTimeUnits[] = {{"s", 0, 0},          {"ms", -3, 0},        {"us", -6, 0},
                                   {"\xC2\xB5s", -6, 0}, {"\xCE\xBCs", -6, 0}, {"ns", -9, 0},
                                   {"ps", -12, 0},       {"min", 0, 60},       {"h", 0, 3600}};

// One number, perhaps with a unit, also behind a blank. The exponent is changed, not the digits: 1us is the double
// nearest to 1e-6.
std::string one_in_seconds(const std::string& text) {
  const std::size_t first = text.find_first_not_of(' '), end = text.find_last_of("0123456789.");
  if (end == std::string::npos || text.find_first_of("0123456789.") > first + 1) return text;
  const std::string digits = text.substr(first, end + 1 - first);
  const std::string name = without_blanks(text.substr(end + 1));
  double value = 0;
  if (!parse(digits, value)) return text;
  for (const TimeUnit& unit : kTimeUnits) {
    if (unit.name != name) continue;
    if (unit.seconds > 0) return write_number(value * unit.seconds);
    const std::size_t at = digits.find_first_of("eE");
    std::int64_t exponent = 0;
    if (at != std::string::npos) parse(std::string_view(digits).substr(at + 1), exponent);
    return digits.substr(0, at) + "e" + std::to_string(exponent + unit.exponent);
  }
  return text;
}

}  // namespace

std::string in_seconds(const std::string& text) {
  std::string made, one;
  for (const char c : text) {
    if (c != ':' && c != ',' && c != '=') {
      one += c;
      continue;
    }
    made += one_in_seconds(one) + c;
    one.clear();
  }
  return made + one_in_seconds(one);
}

std::string write_number(double value) {
  char digits[32];
  // Powers of ten outside this range are easier to read than zeros.
  const double size = std::fabs(value);
  const auto form = size != 0 && (size < 1e-4 || size >= 1e15) ? std::chars_format::scientific
                                                               : std::chars_format::fixed;
  const auto end = std::isfinite(value)
                       ? std::to_chars(digits, digits + sizeof(digits), value, form)
                       : std::to_chars(digits, digits + sizeof(digits), value);
  return {digits, end.ptr};
}

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts{""};
  for (const char c : text) {
    if (c == at) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

std::pair<std::string, std::string> split_pair(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) refuse(text, "NAME=VALUE");
  return {text.substr(0, equals), text.substr(equals + 1)};
}

}  // namespace text

FieldText<std::vector<std::string>> file_names() {
  FieldText<std::vector<std::string>> form{FieldKind::list, "", {}, {}, {}};
  form.read = [](const std::string& text) {
    std::vector<std::string> names;
    for (std::string& name : text::split(text, text.find('\n') == std::string::npos ? ',' : '\n'))
      if (!name.empty()) names.push_back(std::move(name));
    return names;
  };
  form.write = [](const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : "\n") + name;
    return text;
  };
  return form;
}

FieldText<std::size_t> byte_size() {
  constexpr const char* kWords =
      "bytes, as 512, 512M or 2GiB (powers of 2), or 500MB (powers of 10)";
  FieldText<std::size_t> form{FieldKind::text, kWords, {}, {}, {}};
  form.read = [](const std::string& text) {
    const std::size_t digits = text.find_first_not_of("0123456789.eE+");
    const std::string suffix =
        digits == std::string::npos ? "" : text::without_blanks(text.substr(digits));
    double value = 0, scale = 0;
    if (suffix.empty() || suffix == "B") scale = 1;
    if (suffix == "K" || suffix == "k" || suffix == "KiB") scale = 1 << 10;
    if (suffix == "M" || suffix == "MiB") scale = 1 << 20;
    if (suffix == "G" || suffix == "GiB") scale = 1 << 30;
    if (suffix == "kB" || suffix == "KB") scale = 1e3;
    if (suffix == "MB") scale = 1e6;
    if (suffix == "GB") scale = 1e9;
    if (!parse(text.substr(0, digits), value) || !(value > 0) || scale == 0 || value * scale > 1e18)
      text::refuse(text, kWords);
    return static_cast<std::size_t>(value * scale);
  };
  form.write = [](const std::size_t& bytes) {
    for (const auto& [suffix, shift] : {std::pair{"G", 30}, {"M", 20}, {"K", 10}})
      if (bytes > 0 && bytes % (std::size_t{1} << shift) == 0)
        return std::to_string(bytes >> shift) + suffix;
    return std::to_string(bytes);
  };
  form.allows = [](const std::size_t& bytes) { return bytes > 0; };
  return form;
}

std::size_t half_of_memory() {
  static const std::size_t bytes = [] {
    const auto all = static_cast<std::size_t>(::sysconf(_SC_PHYS_PAGES)) *
                     static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    std::size_t allowed = 0;
    std::ifstream("/sys/fs/cgroup/memory.max") >> allowed;  // "max", or none: stays 0
    return (allowed > 0 ? std::min(all, allowed) : all) / 2;
  }();
  return bytes;
}

FieldText<std::size_t> memory_size() {
  FieldText<std::size_t> form = byte_size();
  form.read = [read = form.read](const std::string& text) {
    return text == "half of the machine's" ? half_of_memory() : read(text);
  };
  form.write = [write = form.write](const std::size_t& bytes) {
    return bytes == half_of_memory() ? "half of the machine's" : write(bytes);
  };
  return form;
}

FieldText<std::pair<double, double>> interval() {
  using Pair = std::pair<double, double>;
  constexpr const char* kWords = "LOW:HIGH, LOW below HIGH";
  return {FieldKind::text,
          kWords,
          {},
          [](const std::string& text) -> Pair {
            const auto ends = text::split(text, ':');
            if (ends.size() != 2) text::refuse(text, kWords);
            return {text::read_number(ends[0]), text::read_number(ends[1])};
          },
          [](const Pair& pair) {
            return text::write_number(pair.first) + ":" + text::write_number(pair.second);
          },
          [](const Pair& pair) { return pair.first < pair.second; }};
}

}  // namespace tautline::core

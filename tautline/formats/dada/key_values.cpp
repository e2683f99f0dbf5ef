#include "tautline/formats/dada/key_values.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <system_error>

#include "tautline/formats/text.h"

namespace tautline::formats::dada {

namespace {

constexpr std::string_view kBlank = " \t\r";
constexpr int kExactDigits = 18;  // as many as a 63-bit integer always holds

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// The length of a decimal literal's mantissa without sign ("16.368"), or 0.
std::size_t mantissa_length(std::string_view text) {
  std::size_t p = 0, digits = 0;
  bool point = false;
  for (; p < text.size(); ++p) {
    if (is_digit(text[p])) {
      ++digits;
    } else if (text[p] == '.' && !point) {
      point = true;
    } else {
      break;
    }
  }
  return digits == 0 ? 0 : p;
}

// Drops the digits after the point that come behind the 18th significant one.
std::string cut_digits(std::string_view mantissa) {
  std::string kept;
  int significant = 0;
  bool point = false;
  for (const char c : mantissa) {
    if (c == '.') {
      point = true;
    } else if (c != '0' || significant > 0) {
      if (significant == kExactDigits && point) break;
      ++significant;
    }
    kept += c;
  }
  return kept;
}

}  // namespace

KeyValues::KeyValues(std::span<const std::byte> bytes, std::string file) : file_(std::move(file)) {
  std::string_view rest(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  rest = rest.substr(0, rest.find('\0'));
  std::size_t offset = 0;
  while (offset < rest.size()) {
    const std::size_t end = std::min(rest.find('\n', offset), rest.size());
    std::string_view line = rest.substr(offset, end - offset);
    const auto binary = std::find_if(line.begin(), line.end(), [](char c) {
      const auto code = static_cast<unsigned char>(c);
      return code < 32 ? kBlank.find(c) == std::string_view::npos : code == 127;
    });
    if (binary != line.end())
      throw core::Error(
          core::ErrorKind::format,
          file_ + ": header text, byte " +
              std::to_string(offset + static_cast<std::size_t>(binary - line.begin())),
          "control character " +
              std::to_string(static_cast<int>(static_cast<unsigned char>(*binary))),
          "lines of KEY value", "check that this is a DADA file and its HDR_SIZE");
    line = trim(line.substr(0, line.find('#')), kBlank);
    if (!line.empty()) {
      const std::size_t key_end = std::min(line.find_first_of(kBlank), line.size());
      entries_.emplace_back(line.substr(0, key_end), trim(line.substr(key_end), kBlank));
    }
    offset = end + 1;
  }
}

std::optional<std::string> KeyValues::text(std::string_view key) const {
  for (const auto& [name, value] : entries_)
    if (name == key) return value;
  return std::nullopt;
}

std::string KeyValues::text_or(std::string_view key, std::string_view otherwise) const {
  return text(key).value_or(std::string(otherwise));
}

core::Error KeyValues::wrong(std::string_view what, std::string_view key,
                             const std::string& expected, const std::string& advice) const {
  const auto value = text(key);
  std::string found = !value ? "missing" : value->empty() ? "empty" : *value;
  constexpr std::size_t kLongest = 80;
  if (found.size() > kLongest) found = found.substr(0, kLongest) + "...";
  return {core::ErrorKind::format, file_ + ": " + std::string(what) + ", key " + std::string(key),
          found, expected, value ? advice : "add the key to the header"};
}

std::int64_t KeyValues::integer(std::string_view key, std::int64_t low, std::int64_t high,
                                std::optional<std::int64_t> otherwise) const {
  const auto value = text(key);
  if (!value && otherwise) return *otherwise;
  const std::string expected =
      "an integer from " + std::to_string(low) + " to " + std::to_string(high);
  std::int64_t number = 0;
  const char* end = value ? value->data() + value->size() : nullptr;
  const auto result =
      value ? std::from_chars(value->data(), end, number) : std::from_chars_result{};
  if (!value || result.ec != std::errc{} || result.ptr != end || number < low || number > high)
    throw wrong("header number", key, expected);
  return number;
}

Decimal KeyValues::decimal(std::string_view key) const {
  const auto value = text(key);
  const std::string_view all = value ? std::string_view(*value) : std::string_view();
  std::string_view rest = all;
  const bool negative = rest.starts_with('-');
  if (negative || rest.starts_with('+')) rest.remove_prefix(1);
  const std::size_t mantissa = mantissa_length(rest);
  const std::string_view exponent = rest.substr(mantissa);
  std::string_view power = exponent.empty() ? exponent : exponent.substr(1);
  if (power.starts_with('-') || power.starts_with('+')) power.remove_prefix(1);
  const bool exponent_fits =
      exponent.empty() || ((exponent[0] == 'e' || exponent[0] == 'E') && !power.empty() &&
                           power.size() <= 3 && std::all_of(power.begin(), power.end(), is_digit));
  if (mantissa == 0 || !exponent_fits) throw wrong("header number", key, "a finite decimal number");
  const std::string kept = cut_digits(rest.substr(0, mantissa));
  if (kept.find_first_of("123456789") == std::string::npos) return {};
  return {negative ? -1 : 1, kept + std::string(exponent)};
}

double KeyValues::number(std::string_view key, int shift) const {
  const Decimal value = decimal(key);
  if (value.sign == 0) return 0;
  // The shift goes into the literal, so that the product is rounded once: 1575.42 MHz is exactly
  // 1575420000 Hz.
  const std::size_t e = std::min(value.magnitude.find_first_of("eE"), value.magnitude.size());
  int power = shift;
  if (e < value.magnitude.size()) power += std::stoi(value.magnitude.substr(e + 1));
  const std::string literal = value.magnitude.substr(0, e) + "e" + std::to_string(power);
  double result = 0;
  const auto parsed = std::from_chars(literal.data(), literal.data() + literal.size(), result);
  if (parsed.ec != std::errc{} || !std::isfinite(result))
    throw wrong("header number", key, "a number that fits a double");
  return value.sign * result;
}

core::Rational KeyValues::positive(std::string_view key, int shift) const {
  const Decimal value = decimal(key);
  if (value.sign <= 0) throw wrong("header number", key, "a positive number");
  try {
    return core::parse_decimal(value.magnitude, shift);
  } catch (const core::Error&) {
    throw wrong("header number", key, "a number between 1e-12 and 1e12");
  }
}

std::optional<core::Rational> KeyValues::ratio(std::string_view key) const {
  const auto value = text(key);
  if (!value) return std::nullopt;
  std::int64_t numerator = 0, denominator = 0;
  const char* end = value->data() + value->size();
  auto result = std::from_chars(value->data(), end, numerator);
  if (result.ec == std::errc{} && result.ptr != end && *result.ptr == '/')
    result = std::from_chars(result.ptr + 1, end, denominator);
  if (result.ec != std::errc{} || result.ptr != end || numerator < 0 || denominator <= 0)
    throw wrong("exact ratio", key, "numerator/denominator, both whole");
  return core::Rational{numerator, denominator};
}

}  // namespace tautline::formats::dada

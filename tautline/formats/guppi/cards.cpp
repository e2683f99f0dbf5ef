#include "tautline/formats/guppi/cards.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>
#include <vector>

#include "tautline/formats/text.h"

namespace tautline::formats::guppi {

namespace {

// Headers hold about 80 cards; a longer run of cards without END is not taken for a header.
constexpr std::size_t kMaxHeaderBytes = std::size_t{1} << 18;
constexpr std::size_t kPieceBytes = 8192;
constexpr std::size_t kDirectIoBytes = 512;
constexpr std::size_t kKeywordBytes = 8;
constexpr std::string_view kBlanks(" \0", 2);

bool printable(std::string_view card) {
  return std::all_of(card.begin(), card.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

std::string_view value_of(std::string_view field) {
  field = trim(field, kBlanks);
  if (!field.empty() && field.front() == '\'') {
    field.remove_prefix(1);
    return trim(field.substr(0, field.find('\'')), kBlanks);
  }
  return trim(field.substr(0, field.find('/')), kBlanks);
}

}  // namespace

std::optional<Cards> Cards::read(const InputFile& file, std::uint64_t offset) {
  Cards cards;
  cards.path_ = file.path();
  cards.offset_ = offset;
  std::vector<std::byte> bytes;
  for (std::size_t at = 0; at < kMaxHeaderBytes; at += kCardBytes) {
    if (at + kCardBytes > bytes.size()) {
      const std::size_t before = bytes.size();
      bytes.resize(before + kPieceBytes);
      bytes.resize(before +
                   file.read(offset + before, std::span(bytes).subspan(before, kPieceBytes)));
      if (at + kCardBytes > bytes.size()) return std::nullopt;
    }
    const std::string_view card(reinterpret_cast<const char*>(bytes.data()) + at, kCardBytes);
    if (!printable(card)) return std::nullopt;
    const std::string keyword(trim(card.substr(0, kKeywordBytes), kBlanks));
    if (keyword == "END" && trim(card.substr(3), kBlanks).empty()) {
      cards.bytes_ = at + kCardBytes;
      const std::string direct = cards.text("DIRECTIO", "0");
      if (finite_number(direct).value_or(0) != 0)
        cards.bytes_ = (cards.bytes_ + kDirectIoBytes - 1) / kDirectIoBytes * kDirectIoBytes;
      return cards;
    }
    if (card[kKeywordBytes] == '=')
      cards.values_.emplace(keyword, value_of(card.substr(kKeywordBytes + 1)));
    else if (at == 0)
      return std::nullopt;
  }
  return std::nullopt;
}

std::string Cards::text(const std::string& keyword, const std::string& otherwise) const {
  const auto found = values_.find(keyword);
  return found == values_.end() ? otherwise : found->second;
}

std::int64_t Cards::integer(const std::string& keyword, std::int64_t least, std::int64_t most,
                            std::optional<std::int64_t> otherwise) const {
  const std::string expected = fmt::format("a whole number from {} to {}", least, most);
  if (!has(keyword)) {
    if (otherwise) return *otherwise;
    throw error(keyword, "no such card", expected);
  }
  const std::string value = text(keyword);
  const std::size_t skip = !value.empty() && value.front() == '+' ? 1 : 0;
  std::int64_t number = 0;
  const char* end_of_text = value.data() + value.size();
  const auto [end, failure] = std::from_chars(value.data() + skip, end_of_text, number);
  if (failure != std::errc{} || end != end_of_text) {
    // Some writers give whole numbers a decimal point.
    const auto real = finite_number(value);
    if (!real || *real != std::floor(*real) || std::abs(*real) > 1e15)
      throw error(keyword, "'" + value + "'", expected);
    number = static_cast<std::int64_t>(*real);
  }
  if (number < least || number > most) throw error(keyword, value, expected);
  return number;
}

double Cards::number(const std::string& keyword) const {
  const std::string value = text(keyword);
  const auto parsed = finite_number(value);
  if (!parsed) throw error(keyword, has(keyword) ? "'" + value + "'" : "no such card", "a number");
  return *parsed;
}

core::Rational Cards::magnitude(const std::string& keyword, int shift) const {
  const double value = number(keyword);
  std::string digits = text(keyword);
  if (!digits.empty() && (digits.front() == '-' || digits.front() == '+')) digits.erase(0, 1);
  if (value == 0) throw error(keyword, digits, "a number that is not zero");
  try {
    return core::parse_decimal(digits, shift);
  } catch (const core::Error&) {
    // More digits than an exact ratio holds: the digits of a double are enough.
  }
  try {
    return core::parse_decimal(fmt::format("{:.15g}", std::abs(value)), shift);
  } catch (const core::Error&) {
    throw error(keyword, digits, "a number of a sensible size");
  }
}

core::Error Cards::error(const std::string& keyword, const std::string& found,
                         const std::string& expected) const {
  return format_error(path_, fmt::format("{} in the header at byte {}", keyword, offset_), found,
                      expected, "check that this is a GUPPI RAW file");
}

}  // namespace tautline::formats::guppi

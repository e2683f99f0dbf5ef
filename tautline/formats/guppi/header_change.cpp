#include "tautline/formats/guppi/header_change.h"

#include <fmt/format.h>

#include <cmath>

#include "tautline/core/time.h"
#include "tautline/formats/input_file.h"
#include "tautline/formats/text.h"

namespace tautline::formats::guppi {

namespace {

std::optional<double> number_in(const Cards& cards, const std::string& keyword) {
  return cards.has(keyword) ? finite_number(cards.text(keyword)) : std::nullopt;
}

HeaderChange change_of(const std::string& keyword, const Cards& first, const Cards& other) {
  return {keyword, other.text(keyword, "no such card"), first.text(keyword, "no such card")};
}

bool differs(const std::string& keyword, const Cards& first, const Cards& other, double tolerance) {
  const auto a = number_in(first, keyword), b = number_in(other, keyword);
  return a && b && std::abs(*b - *a) > tolerance;
}

// What OBSFREQ may differ by, in its unit.
double frequency_tolerance_mhz(const Cards& first) {
  constexpr double kOfChannel = 1e-3, kUnknown_mhz = 1e-6;
  const auto band = number_in(first, "OBSBW"), rows = number_in(first, "OBSNCHAN");
  const double antennas = number_in(first, "NANTS").value_or(1);
  return band && rows && *rows > 0 ? kOfChannel * std::abs(*band) * antennas / *rows : kUnknown_mhz;
}

std::optional<double> date_s(const Cards& cards) {
  const auto day = number_in(cards, "STT_IMJD"), second = number_in(cards, "STT_SMJD");
  if (!day || !second) return std::nullopt;
  return *day * core::kSecondsPerDay + *second + number_in(cards, "STT_OFFS").value_or(0);
}

std::optional<HeaderChange> date_change(const Cards& first, const Cards& other, double block_s) {
  constexpr double kTolerance_s = 1e-3, kOfBlocks_s = 1, kOfBlocksWithFractions_s = 1e-2;
  const auto a = date_s(first), b = date_s(other);
  if (!a || !b || std::abs(*b - *a) <= kTolerance_s) return std::nullopt;
  const bool fractions = differs("STT_OFFS", first, other, 0);
  if (std::abs(*b - *a - block_s) <= (fractions ? kOfBlocksWithFractions_s : kOfBlocks_s))
    return std::nullopt;
  for (const char* keyword : {"STT_IMJD", "STT_SMJD"})
    if (differs(keyword, first, other, 0)) return change_of(keyword, first, other);
  return change_of("STT_OFFS", first, other);
}

}  // namespace

std::optional<HeaderChange> layout_change(const Cards& first, const Cards& other) {
  for (const char* keyword : {"OBSNCHAN", "NANTS", "NPOL", "NBITS", "BLOCSIZE", "OVERLAP"})
    if (first.has(keyword) != other.has(keyword) || differs(keyword, first, other, 0))
      return change_of(keyword, first, other);
  return std::nullopt;
}

std::optional<HeaderChange> setting_change(const Cards& first, const Cards& other, double block_s) {
  constexpr double kOfDigits = 1e-6;
  if (differs("OBSFREQ", first, other, frequency_tolerance_mhz(first)))
    return change_of("OBSFREQ", first, other);
  for (const char* keyword : {"OBSBW", "TBIN"})
    if (differs(keyword, first, other, kOfDigits * std::abs(number_in(first, keyword).value_or(0))))
      return change_of(keyword, first, other);
  return date_change(first, other, block_s);
}

core::Error change_error(const std::string& path, const Cards& cards, const HeaderChange& change,
                         const std::string& as) {
  return format_error(
      path, fmt::format("{} in the header at byte {}", change.keyword, cards.offset()),
      change.found, change.expected + as,
      fmt::format("split the file at byte {} and give the parts one by one, or take the part "
                  "before it with `duration_s`",
                  cards.offset()));
}

}  // namespace tautline::formats::guppi

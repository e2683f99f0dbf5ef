#include "tautline/formats/packets/half_years.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace tautline::formats::packets {

core::Instant half_year(std::size_t number) {
  return core::parse_utc(
      fmt::format("{}-{}-01-00:00:00", 2000 + number / 2, number % 2 == 0 ? "01" : "07"));
}

namespace {

std::array<std::int64_t, kHalfYears> make_begins() {
  std::array<std::int64_t, kHalfYears> begins{};
  for (std::size_t k = 0; k < kHalfYears; ++k)
    begins[k] = half_year(k).seconds - half_year(0).seconds;
  return begins;
}

const std::array<std::int64_t, kHalfYears>& begins() {
  static const std::array<std::int64_t, kHalfYears> table = make_begins();
  return table;
}

}  // namespace

std::int64_t half_year_s(std::size_t number) {
  return begins()[number];
}

std::size_t half_year_at(std::int64_t seconds) {
  const auto after = std::upper_bound(begins().begin(), begins().end(), seconds);
  return static_cast<std::size_t>(std::max<std::ptrdiff_t>(1, after - begins().begin()) - 1);
}

}  // namespace tautline::formats::packets

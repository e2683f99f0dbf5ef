#include "tautline/core/exact_double.h"

#include <cmath>
#include <string>

#include "tautline/core/error.h"

namespace tautline::core {

namespace {

__extension__ using Int128 = __int128;

struct Ratio {
  Int128 numerator, denominator;
};

// The simplest ratio within [low, high], both positive: the last convergent common to both ends,
// and one step more. Each step subtracts the whole part and inverts the rest.
Ratio simplest_between(Ratio low, Ratio high) {
  const Int128 whole = low.numerator / low.denominator;
  if (whole * low.denominator == low.numerator) return {whole, 1};
  if (whole < high.numerator / high.denominator) return {whole + 1, 1};
  const Ratio rest = simplest_between({high.denominator, high.numerator - whole * high.denominator},
                                      {low.denominator, low.numerator - whole * low.denominator});
  return {whole * rest.numerator + rest.denominator, rest.numerator};
}

}  // namespace

Rational simplest_ratio(double value) {
  constexpr double kSmallest = 1e-18, kLargest = 1e18;
  if (!(value >= kSmallest && value <= kLargest))
    throw Error(ErrorKind::config, "number", std::to_string(value), "1e-18 to 1e18");
  if (value == std::floor(value)) return {static_cast<std::int64_t>(value), 1};
  // value = mantissa 2^(exponent - 60). Half a unit in the last place of a double is 64 units of
  // the mantissa: any nearer number rounds to the value (a number exactly at that distance has no
  // small ratio).
  constexpr int kMantissaBits = 60, kReach = 64;
  int exponent = 0;
  const double fraction = std::frexp(value, &exponent);
  const auto mantissa = static_cast<Int128>(std::ldexp(fraction, kMantissaBits));
  const Int128 scale = Int128{1} << (kMantissaBits - exponent);
  // Numbers above 1 keep the integers small; inverted, the ends of the range change places.
  const bool inverted = value < 1;
  const Ratio found =
      inverted ? simplest_between({scale, mantissa + kReach}, {scale, mantissa - kReach})
               : simplest_between({mantissa - kReach, scale}, {mantissa + kReach, scale});
  const auto numerator = static_cast<std::int64_t>(found.numerator);
  const auto denominator = static_cast<std::int64_t>(found.denominator);
  return inverted ? make_rational(denominator, numerator) : make_rational(numerator, denominator);
}

Instant instant_of_mjd(double mjd) {
  constexpr double kFurthest = 1e8;
  if (!(std::abs(mjd) <= kFurthest))
    throw Error(ErrorKind::config, "MJD", std::to_string(mjd), "a date within 1e8 days of 0");
  const double day = std::floor(mjd);
  // Both differences and the product's parts are exact: a fraction of a day has at most 53 bits,
  // and 86400 = 675 x 2^7 adds 10.
  const double fraction = mjd - day;
  int exponent = 0;
  const double mantissa = std::frexp(fraction, &exponent);
  Instant start{(static_cast<std::int64_t>(day) - kUnixEpochMjd) * kSecondsPerDay, 0, 1};
  if (fraction == 0) return start;
  Int128 numerator = static_cast<Int128>(std::ldexp(mantissa, 53)) * kSecondsPerDay;
  int shift = 53 - exponent;
  while (numerator % 2 == 0 && shift > 0) {
    numerator /= 2;
    --shift;
  }
  // A fraction of a day below 1e-6 of its last place cannot come from a date: it is removed.
  while (shift > 62) {
    numerator /= 2;
    --shift;
  }
  const Int128 denominator = Int128{1} << shift;
  start.seconds += static_cast<std::int64_t>(numerator / denominator);
  start.fraction_numerator = static_cast<std::int64_t>(numerator % denominator);
  start.fraction_denominator =
      start.fraction_numerator == 0 ? 1 : static_cast<std::int64_t>(denominator);
  return start;
}

Instant instant_of_mjd(std::int64_t day, double seconds) {
  constexpr double kFurthest_s = 1e13;
  constexpr std::int64_t kFurthestDay = 100'000'000;
  if (!(std::abs(seconds) <= kFurthest_s) || day > kFurthestDay || day < -kFurthestDay)
    throw Error(ErrorKind::config, "MJD",
                std::to_string(day) + " and " + std::to_string(seconds) + " s",
                "a date within 1e8 days of 0");
  const double whole = std::floor(seconds);
  Instant start{(day - kUnixEpochMjd) * kSecondsPerDay + static_cast<std::int64_t>(whole), 0, 1};
  std::int64_t numerator = static_cast<std::int64_t>(std::ldexp(seconds - whole, 62));
  int shift = 62;
  if (numerator == 0) return start;
  while (numerator % 2 == 0) {
    numerator /= 2;
    --shift;
  }
  start.fraction_numerator = numerator;
  start.fraction_denominator = std::int64_t{1} << shift;
  return start;
}

}  // namespace tautline::core

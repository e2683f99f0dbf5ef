#include "tautline/core/time.h"

#include <array>
#include <cstdio>
#include <limits>
#include <numeric>

#include "tautline/core/error.h"

namespace tautline::core {

namespace {

__extension__ using Int128 = __int128;

constexpr std::int64_t kPicosecondsPerSecond = 1'000'000'000'000;
constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

Int128 gcd128(Int128 a, Int128 b) {
  while (b != 0) {
    const Int128 r = a % b;
    a = b;
    b = r;
  }
  return a;
}

Rational reduce(Int128 numerator, Int128 denominator, const std::string& text) {
  const Int128 divisor = gcd128(numerator, denominator);
  numerator /= divisor;
  denominator /= divisor;
  if (numerator > kMax || denominator > kMax)
    throw Error(ErrorKind::config, "number", text, "a ratio of two 63-bit integers");
  return {static_cast<std::int64_t>(numerator), static_cast<std::int64_t>(denominator)};
}

constexpr std::int64_t kAttosecondsPerSecond = 1'000'000'000'000'000'000;

// numerator / denominator < 1, rounded down to a whole number of attoseconds.
Int128 to_attoseconds(Int128 numerator, Int128 denominator) {
  while (denominator > (Int128{1} << 66)) {  // keeps the product within 127 bits
    numerator /= 2;
    denominator /= 2;
  }
  return numerator * kAttosecondsPerSecond / denominator;
}

// start + numerator / denominator seconds, denominator > 0.
Instant add(const Instant& start, Int128 numerator, Int128 denominator) {
  Int128 whole = numerator / denominator;
  Int128 rest = numerator % denominator;
  if (rest < 0) {
    rest += denominator;
    --whole;
  }
  const Int128 divisor = rest == 0 ? denominator : gcd128(rest, denominator);
  Int128 rest_numerator = rest / divisor;
  Int128 rest_denominator = denominator / divisor;
  if (whole > kMax / 2 || whole < -kMax / 2)
    throw Error(ErrorKind::config, "time", "an offset too large", "63-bit seconds");
  std::int64_t start_numerator = start.fraction_numerator;
  std::int64_t d0 = start.fraction_denominator;
  // Fractions whose common denominator would not fit in 63 bits are rounded to attoseconds, each
  // time from the exact count, so that nothing accumulates.
  if (rest_denominator > kMax ||
      static_cast<Int128>(d0 / std::gcd(d0, static_cast<std::int64_t>(rest_denominator))) *
              rest_denominator >
          kMax) {
    rest_numerator = to_attoseconds(rest_numerator, rest_denominator);
    start_numerator = static_cast<std::int64_t>(to_attoseconds(start_numerator, d0));
    rest_denominator = d0 = kAttosecondsPerSecond;
  }
  const auto d1 = static_cast<std::int64_t>(rest_denominator);
  const std::int64_t shared = std::gcd(d0, d1);
  const Int128 common = static_cast<Int128>(d0 / shared) * d1;
  Int128 sum =
      static_cast<Int128>(start_numerator) * (common / d0) + rest_numerator * (common / d1);
  std::int64_t seconds = start.seconds + static_cast<std::int64_t>(whole);
  if (sum >= common) {
    sum -= common;
    ++seconds;
  }
  if (sum == 0) return {seconds, 0, 1};
  const Int128 g = gcd128(sum, common);
  return {seconds, static_cast<std::int64_t>(sum / g), static_cast<std::int64_t>(common / g)};
}

struct Civil {
  std::int64_t year;
  unsigned month, day;
};

// Days since 1970-01-01 in the proleptic Gregorian calendar, counting years from March so that the
// leap day comes last.
std::int64_t days_from_civil(const Civil& c) {
  const std::int64_t y = c.year - (c.month <= 2 ? 1 : 0);
  const std::int64_t era = (y >= 0 ? y : y - 399) / 400;
  const std::int64_t year_of_era = y - era * 400;
  const std::int64_t month_from_march = (c.month + 9) % 12;
  const std::int64_t day_of_year = (153 * month_from_march + 2) / 5 + c.day - 1;
  const std::int64_t day_of_era =
      year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
  return era * 146097 + day_of_era - 719468;
}

Civil civil_from_days(std::int64_t days) {
  days += 719468;
  const std::int64_t era = (days >= 0 ? days : days - 146096) / 146097;
  const std::int64_t day_of_era = days - era * 146097;
  const std::int64_t year_of_era =
      (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
  const std::int64_t day_of_year =
      day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const std::int64_t month_from_march = (5 * day_of_year + 2) / 153;
  const auto day = static_cast<unsigned>(day_of_year - (153 * month_from_march + 2) / 5 + 1);
  const auto month =
      static_cast<unsigned>(month_from_march < 10 ? month_from_march + 3 : month_from_march - 9);
  return {year_of_era + era * 400 + (month <= 2 ? 1 : 0), month, day};
}

struct CalendarFields {
  Civil date;
  int hour, minute, second;
};

CalendarFields calendar_fields_of(const Instant& instant) {
  std::int64_t days = instant.seconds / kSecondsPerDay;
  std::int64_t rest = instant.seconds % kSecondsPerDay;
  if (rest < 0) {
    rest += kSecondsPerDay;
    --days;
  }
  return {civil_from_days(days), static_cast<int>(rest / 3600), static_cast<int>(rest / 60 % 60),
          static_cast<int>(rest % 60)};
}

// Wide enough that sums of days and fractions are rounded once, on the way to double.
#ifdef __SIZEOF_FLOAT128__
__extension__ using Wide = __float128;
#else
using Wide = long double;
#endif

Wide fraction_of(const Instant& t) {
  return static_cast<Wide>(t.fraction_numerator) / static_cast<Wide>(t.fraction_denominator);
}

}  // namespace

Rational make_rational(std::int64_t numerator, std::int64_t denominator) {
  if (numerator <= 0 || denominator <= 0)
    throw Error(ErrorKind::config, "rational number",
                std::to_string(numerator) + "/" + std::to_string(denominator),
                "positive numerator and denominator");
  const std::int64_t divisor = std::gcd(numerator, denominator);
  return {numerator / divisor, denominator / divisor};
}

Rational parse_decimal(std::string_view text, int shift) {
  const std::string copy(text);
  const auto fail = [&] {
    return Error(ErrorKind::config, "number", copy,
                 "a positive decimal number of at most 18 digits");
  };
  std::size_t p = 0;
  if (p < text.size() && text[p] == '+') ++p;
  Int128 digits = 0;
  int exponent = shift, count = 0;
  bool point = false, any = false;
  for (; p < text.size(); ++p) {
    const char c = text[p];
    if (c == '.' && !point) {
      point = true;
    } else if (c >= '0' && c <= '9') {
      any = true;
      if (count < 18) {
        digits = digits * 10 + (c - '0');
        if (digits != 0) ++count;
        if (point) --exponent;
      } else if (c != '0') {
        throw fail();
      } else if (!point) {
        ++exponent;
      }
    } else {
      break;
    }
  }
  if (p < text.size() && (text[p] == 'e' || text[p] == 'E')) {
    ++p;
    const bool negative = p < text.size() && text[p] == '-';
    if (p < text.size() && (text[p] == '-' || text[p] == '+')) ++p;
    int power = 0, power_digits = 0;
    for (; p < text.size() && text[p] >= '0' && text[p] <= '9' && power_digits < 4;
         ++p, ++power_digits)
      power = power * 10 + (text[p] - '0');
    if (power_digits == 0) throw fail();
    exponent += negative ? -power : power;
  }
  if (!any || p != text.size() || digits == 0) throw fail();
  while (digits % 10 == 0) {
    digits /= 10;
    ++exponent;
  }
  if (exponent < -36 || exponent > 18) throw fail();
  Int128 numerator = digits, denominator = 1;
  for (; exponent > 0; --exponent) {
    numerator *= 10;
    if (numerator > kMax) throw fail();
  }
  for (; exponent < 0; ++exponent) denominator *= 10;
  return reduce(numerator, denominator, copy);
}

Instant parse_utc(std::string_view text, std::int64_t picoseconds) {
  const std::string copy(text);
  const auto fail = [&] {
    return Error(ErrorKind::format, "UTC time", copy, "yyyy-mm-dd-hh:mm:ss");
  };
  int year, month, day, hour, minute, second, used = 0;
  char separator = 0;
  if (std::sscanf(copy.c_str(), "%4d-%2d-%2d%c%2d:%2d:%2d%n", &year, &month, &day, &separator,
                  &hour, &minute, &second, &used) != 7)
    throw fail();
  if (hour < 0 || hour > 23)
    throw Error(ErrorKind::format, "UTC time", copy, "an hour of 0 to 23, yyyy-mm-dd-hh:mm:ss");
  constexpr std::array<int, 12> kMonthDays{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
  if ((separator != '-' && separator != 'T' && separator != ' ') || year < 1 || month < 1 ||
      month > 12 || day < 1 ||
      day > kMonthDays[static_cast<std::size_t>(month - 1)] + (month == 2 && leap ? 1 : 0) ||
      minute < 0 || minute > 59 || second < 0 || second > 60)
    throw fail();
  if (picoseconds < 0 || picoseconds >= kPicosecondsPerSecond)
    throw Error(ErrorKind::format, "PICOSECONDS", std::to_string(picoseconds), "0 to 999999999999");
  const std::int64_t days =
      days_from_civil({year, static_cast<unsigned>(month), static_cast<unsigned>(day)});
  Instant instant{days * kSecondsPerDay + hour * 3600 + minute * 60 + second, 0, 1};
  std::string_view rest = std::string_view(copy).substr(static_cast<std::size_t>(used));
  if (!rest.empty() && rest.back() == 'Z') rest.remove_suffix(1);
  if (!rest.empty()) {
    if (rest.front() != '.' || rest.size() < 2 || rest.size() > 13) throw fail();
    Int128 numerator = 0, denominator = 1;
    for (const char c : rest.substr(1)) {
      if (c < '0' || c > '9') throw fail();
      numerator = numerator * 10 + (c - '0');
      denominator *= 10;
    }
    instant = add(instant, numerator, denominator);
  }
  return add(instant, picoseconds, kPicosecondsPerSecond);
}

std::string to_iso(const Instant& instant) {
  const CalendarFields f = calendar_fields_of(instant);
  const auto micro = static_cast<int>(static_cast<Int128>(instant.fraction_numerator) * 1'000'000 /
                                      instant.fraction_denominator);
  char text[64];
  std::snprintf(text, sizeof text, "%04d-%02u-%02uT%02d:%02d:%02d.%06d",
                static_cast<int>(f.date.year), f.date.month, f.date.day, f.hour, f.minute, f.second,
                micro);
  return text;
}

std::string to_dada(const Instant& instant) {
  const CalendarFields f = calendar_fields_of(instant);
  char text[64];
  std::snprintf(text, sizeof text, "%04d-%02u-%02u-%02d:%02d:%02d", static_cast<int>(f.date.year),
                f.date.month, f.date.day, f.hour, f.minute, f.second);
  return text;
}

Instant advance(const Instant& start, std::int64_t samples, const Rational& rate_hz) {
  return add(start, static_cast<Int128>(samples) * rate_hz.denominator, rate_hz.numerator);
}

Instant advance_half(const Instant& start, std::int64_t samples, const Rational& rate_hz) {
  return add(start, static_cast<Int128>(samples) * rate_hz.denominator,
             static_cast<Int128>(rate_hz.numerator) * 2);
}

std::int64_t samples_between(const Instant& from, const Instant& to, const Rational& rate_hz) {
  const Wide seconds =
      static_cast<Wide>(to.seconds - from.seconds) + fraction_of(to) - fraction_of(from);
  const Wide samples =
      seconds * static_cast<Wide>(rate_hz.numerator) / static_cast<Wide>(rate_hz.denominator);
  return static_cast<std::int64_t>(samples < 0 ? samples - static_cast<Wide>(0.5)
                                               : samples + static_cast<Wide>(0.5));
}

double seconds_between(const Instant& from, const Instant& to) {
  return static_cast<double>(static_cast<Wide>(to.seconds - from.seconds) + fraction_of(to) -
                             fraction_of(from));
}

bool before(const Instant& a, const Instant& b) {
  if (a.seconds != b.seconds) return a.seconds < b.seconds;
  return static_cast<Int128>(a.fraction_numerator) * b.fraction_denominator <
         static_cast<Int128>(b.fraction_numerator) * a.fraction_denominator;
}

bool is_known_start(const Instant& start) {
  constexpr std::int64_t kYear_s = 366 * kSecondsPerDay;
  return start.seconds >= kYear_s;
}

double julian_date(const Instant& t) {
  return static_cast<double>(static_cast<Wide>(2440587.5) +
                             (static_cast<Wide>(t.seconds) + fraction_of(t)) / kSecondsPerDay);
}

double modified_julian_date(const Instant& t) {
  return static_cast<double>(static_cast<Wide>(kUnixEpochMjd) +
                             (static_cast<Wide>(t.seconds) + fraction_of(t)) / kSecondsPerDay);
}

double mjd_seconds(const Instant& t) {
  return static_cast<double>(static_cast<Wide>(kUnixEpochMjd * kSecondsPerDay + t.seconds) +
                             fraction_of(t));
}

}  // namespace tautline::core

// Exact sample time: an integer count of samples at a rational rate since an exact epoch.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tautline::core {

inline constexpr std::int64_t kSecondsPerDay = 86400;
inline constexpr std::int64_t kUnixEpochMjd = 40587;  ///< MJD of 1970-01-01

/// A positive rational number in lowest terms.
struct Rational {
  std::int64_t numerator = 0;
  std::int64_t denominator = 1;

  double value() const { return static_cast<double>(numerator) / static_cast<double>(denominator); }
  friend bool operator==(const Rational&, const Rational&) = default;
};

/// numerator / denominator in lowest terms. Throws Error(config) unless both are positive.
Rational make_rational(std::int64_t numerator, std::int64_t denominator);

/// The exact value of a decimal literal ("16.368", "1e-3") times 10^shift. Throws Error(config)
/// when it is not a number, not positive, or does not fit.
Rational parse_decimal(std::string_view text, int shift = 0);

/// An instant in UTC: whole seconds since 1970-01-01T00:00:00 (86,400 a day, as POSIX counts) and
/// an exact fraction of a second in [0, 1). Leap seconds inside a stream are not represented.
struct Instant {
  std::int64_t seconds = 0;
  std::int64_t fraction_numerator = 0;
  std::int64_t fraction_denominator = 1;

  friend bool operator==(const Instant&, const Instant&) = default;
};

/// yyyy-mm-dd-hh:mm:ss[.fraction], or with T instead of the third dash. Throws Error(format).
Instant parse_utc(std::string_view text, std::int64_t picoseconds = 0);
/// yyyy-mm-ddThh:mm:ss.ffffff, rounded down to the microsecond.
std::string to_iso(const Instant& instant);
/// yyyy-mm-dd-hh:mm:ss, whole seconds, as DADA writes UTC_START.
std::string to_dada(const Instant& instant);

/// start + samples / rate_hz, exact; rounded down to attoseconds where the fraction would not fit
/// 63-bit integers (a rate of no round number of Hz from an epoch given to the picosecond). Throws
/// Error(config) when it overflows.
Instant advance(const Instant& start, std::int64_t samples, const Rational& rate_hz);
/// start + half of samples / rate_hz: the middle of a span, exact.
Instant advance_half(const Instant& start, std::int64_t samples, const Rational& rate_hz);
/// (to - from) x rate, rounded to the nearest sample.
std::int64_t samples_between(const Instant& from, const Instant& to, const Rational& rate_hz);
/// to - from in seconds, as a double correctly rounded from the exact difference (to 1e-18 s).
double seconds_between(const Instant& from, const Instant& to);
bool before(const Instant& a, const Instant& b);
/// False for data without a start (arrays): their first sample counts as 1970-01-01, and skipped samples lead further
/// into that year, so any time before 1971 is taken as unknown.
bool is_known_start(const Instant& start);

/// Julian and modified Julian date in UTC, rounded once to double.
double julian_date(const Instant& instant);
double modified_julian_date(const Instant& instant);
/// MJD in seconds, as Measurement Sets keep time, rounded once.
double mjd_seconds(const Instant& instant);

}  // namespace tautline::core

#include <fmt/format.h>

#include "tautline/core/frequency_text.h"
#include "tautline/formats/voltage_reader.h"

namespace tautline::formats {

namespace {

std::string number_text(double value) {
  return value == 0 ? "" : core::text::write_number(value);
}

core::Rational read_frequency(const std::string& text, const std::string& or_else = "") {
  try {
    return core::parse_decimal(core::in_hertz(text));
  } catch (const core::Error& error) {
    core::text::refuse(text, error.limit() + or_else + ", in hertz or with a unit (1.28MHz)");
  }
}

// A number without a unit that small is one of megahertz.
core::Rational read_rate(const std::string& text) {
  constexpr double kLeast_hz = 1000;
  const core::Rational rate = read_frequency(text);
  const bool plain = text.find_first_not_of("0123456789.") == std::string::npos;
  if (plain && rate.value() < kLeast_hz)
    core::text::refuse(text, fmt::format("{:g} or more, or a number with its unit: {}MHz, or {}Hz "
                                         "if that is meant",
                                         kLeast_hz, text, text));
  return rate;
}

// Negative for the lower sideband.
double read_bandwidth(const std::string& text) {
  const bool negative = text.starts_with('-');
  return read_frequency(negative ? text.substr(1) : text,
                        ", after a minus sign for the lower sideband")
             .value() *
         (negative ? -1 : 1);
}

}  // namespace

const core::Fields<ReaderOptions>& fields(const ReaderOptions&) {
  using C = ReaderOptions;
  static const auto all =
      core::Fields<C>()
          .add({.name = "receivers",
                .help = "the files are receivers of one array, not consecutive in time"},
               &C::receivers)
          .add_text(
              {.name = "format", .help = "sample format, as ci8"},
              [](const C& c) {
                const core::SampleFormat unknown;
                return c.assumed.format == unknown ? "" : core::to_string(c.assumed.format);
              },
              [](C& c, const std::string& text) {
                c.assumed.format = core::parse_sample_format(text);
              })
          .add_text(
              {.name = "rate_hz",
               .unit = "Hz",
               .help = "samples per second of each input, as 1.28e6 or 1.28MHz",
               .option = "rate-hz"},
              [](const C& c) { return number_text(c.assumed.rate_hz.value()); },
              [](C& c, const std::string& text) { c.assumed.rate_hz = read_rate(text); })
          .add_text(
              {.name = "centre_hz",
               .unit = "Hz",
               .help = "sky frequency of the band's middle",
               .option = "centre-hz"},
              [](const C& c) { return number_text(c.assumed.centre_hz); },
              [](C& c, const std::string& text) {
                c.assumed.centre_hz = read_frequency(text).value();
              })
          .add_text(
              {.name = "bandwidth_hz",
               .unit = "Hz",
               .help = "of the band; negative: lower sideband",
               .option = "bandwidth-hz"},
              [](const C& c) { return number_text(c.assumed.bandwidth_hz); },
              [](C& c, const std::string& text) { c.assumed.bandwidth_hz = read_bandwidth(text); })
          .add_text(
              {.name = "utc_start", .help = "yyyy-mm-dd-hh:mm:ss of the first sample"},
              [](const C& c) {
                return c.assumed.start == core::Instant{} ? "" : core::to_iso(c.assumed.start);
              },
              [](C& c, const std::string& text) { c.assumed.start = core::parse_utc(text); })
          .add(
              {.name = "antennas", .help = "antennas in the file"},
              [](auto& c) -> auto& { return c.assumed.antennas; },
              core::plain_text<std::size_t>(core::at_least(1)))
          .add(
              {.name = "polarisations", .help = "polarisations in the file"},
              [](auto& c) -> auto& { return c.assumed.polarisations; },
              core::plain_text<std::size_t>(core::at_least(1)))
          .add({.name = "threads_are",
                .help = "what threads of VDIF are; bands of a station are adjacent, in ascending "
                        "order of threads; guessed: two of each station are polarisations, others "
                        "antennas"},
               &C::threads_are,
               core::choice<ThreadsAre>({{"guessed", ThreadsAre::guessed},
                                         {"antennas", ThreadsAre::antennas},
                                         {"polarisations", ThreadsAre::polarisations},
                                         {"bands", ThreadsAre::bands}}));
  return all;
}

}  // namespace tautline::formats

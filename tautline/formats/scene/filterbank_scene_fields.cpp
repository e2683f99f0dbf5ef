#include "tautline/core/frequency_text.h"
#include "tautline/formats/scene/filterbank_scene.h"

namespace tautline::formats::scene {

namespace {

// One text a pulse, impulse or carrier, between semicolons.
template <class One, class Parse>
std::vector<One> read_each(const std::string& text, Parse parse) {
  std::vector<One> all;
  if (text.empty()) return all;
  for (const std::string& one : core::text::split(text, ';')) all.push_back(parse(one));
  return all;
}

template <class One>
std::string write_each(const std::vector<One>& all) {
  std::string text;
  for (const One& one : all) text += (text.empty() ? "" : ";") + text_of(one);
  return text;
}

}  // namespace

const core::Fields<FilterbankScene>& fields(const FilterbankScene&) {
  using C = FilterbankScene;
  static const auto all =
      core::Fields<C>()
          .add({.name = "channels", .help = "channels", .option = "nchans"}, &C::channels,
               core::between(1, 1 << 20))
          .add({.name = "fch1_mhz", .unit = "MHz", .help = "centre of the first channel"},
               &C::fch1_mhz, core::megahertz_text())
          .add({.name = "foff_mhz", .unit = "MHz", .help = "to the next channel, with its sign"},
               &C::foff_mhz, core::megahertz_text())
          .add({.name = "tsamp_s", .unit = "s", .help = "length of a sample"}, &C::tsamp_s,
               core::between(1e-12, 1e6))
          .add({.name = "bits", .help = "of a sample; 32: float", .option = "nbits"}, &C::bits,
               core::one_of({1, 2, 4, 8, 16, 32}))
          .add_text(
              {.name = "pulses",
               .help = "dm=,time=,width=,snr= and optionally index=,scattering=: pc cm^-3 and "
                       "seconds; width is the full width at half maximum, time that of the "
                       "highest channel; may be given often",
               .option = "pulse",
               .separator = ';',
               .kind = core::FieldKind::list},
              [](const C& c) { return write_each(c.pulses); },
              [](C& c, const std::string& text) {
                c.pulses = read_each<DispersedPulse>(text, parse_pulse);
              })
          .add_text(
              {.name = "impulses",
               .help = "time=,duration=,amplitude=: interference in all channels at once, in "
                       "their rms",
               .option = "impulse",
               .separator = ';',
               .kind = core::FieldKind::list},
              [](const C& c) { return write_each(c.impulses); },
              [](C& c, const std::string& text) {
                c.impulses = read_each<Impulse>(text, parse_impulse);
              })
          .add_text(
              {.name = "carriers",
               .help = "frequency=,amplitude= and optionally width=,start=,duration=,period=,"
                       "duty=: interference at a frequency (MHz)",
               .option = "carrier",
               .separator = ';',
               .kind = core::FieldKind::list},
              [](const C& c) { return write_each(c.carriers); },
              [](C& c, const std::string& text) {
                c.carriers = read_each<Carrier>(text, parse_carrier);
              })
          .add({.name = "bandpass",
                .help = "relative gains from the first channel to the last, linear between"},
               &C::bandpass, core::between(0, 1e6))
          .add({.name = "smearing", .help = "pulses are smeared within channels"}, &C::smearing)
          .add({.name = "name", .help = "of the source"}, &C::name)
          .add_text(
              {.name = "utc_start",
               .help = "yyyy-mm-dd-hh:mm:ss of the first sample; default: MJD 60000"},
              [](const C& c) { return c.start == core::Instant{} ? "" : core::to_iso(c.start); },
              [](C& c, const std::string& text) { c.start = core::parse_utc(text); });
  return all;
}

}  // namespace tautline::formats::scene

#include "tautline/formats/scene/filterbank_scene.h"

namespace tautline::formats::scene {

namespace {

using core::text::write_number;

// One text a pulse, impulse or carrier, between semicolons.
template <class One, class Parse>
std::vector<One> read_each(const std::string& text, Parse parse) {
  std::vector<One> all;
  if (text.empty()) return all;
  for (const std::string& one : core::text::split(text, ';')) all.push_back(parse(one));
  return all;
}

template <class One, class Write>
std::string write_each(const std::vector<One>& all, Write write) {
  std::string text;
  for (const One& one : all) text += (text.empty() ? "" : ";") + write(one);
  return text;
}

std::string key_value(const char* key, double value) {
  return std::string(key) + "=" + write_number(value);
}

std::string pulse_text(const DispersedPulse& p) {
  return key_value("dm", p.dm) + key_value(",time", p.time_s) + key_value(",width", p.width_s) +
         key_value(",snr", p.snr) + key_value(",index", p.spectral_index) +
         key_value(",scattering", p.scattering_s);
}

std::string impulse_text(const Impulse& i) {
  return key_value("time", i.time_s) + key_value(",duration", i.duration_s) +
         key_value(",amplitude", i.amplitude);
}

std::string carrier_text(const Carrier& c) {
  return key_value("frequency", c.frequency_mhz) + key_value(",amplitude", c.amplitude) +
         key_value(",width", c.width_mhz) + key_value(",start", c.start_s) +
         key_value(",duration", c.duration_s) + key_value(",period", c.period_s) +
         key_value(",duty", c.duty);
}

}  // namespace

const core::Fields<FilterbankScene>& fields(const FilterbankScene&) {
  using C = FilterbankScene;
  static const auto all =
      core::Fields<C>()
          .add({.name = "channels", .help = "channels", .option = "nchans"}, &C::channels,
               core::between(1, 1 << 20))
          .add({.name = "fch1_mhz", .unit = "MHz", .help = "centre of the first channel"},
               &C::fch1_mhz)
          .add({.name = "foff_mhz", .unit = "MHz", .help = "to the next channel, with its sign"},
               &C::foff_mhz)
          .add({.name = "tsamp_s", .unit = "s", .help = "length of a sample"}, &C::tsamp_s,
               core::between(1e-12, 1e6))
          .add({.name = "bits", .help = "of a sample; 32: float", .option = "nbits"}, &C::bits,
               core::one_of({1, 2, 4, 8, 16, 32}))
          .add_text(
              {.name = "pulses",
               .help = "dm=,time=,width=,snr= and if wanted index=,scattering=: pc cm^-3 and "
                       "seconds; width is the full width at half maximum, time that of the "
                       "highest channel; may be given often",
               .option = "pulse",
               .separator = ';',
               .kind = core::FieldKind::list},
              [](const C& c) { return write_each(c.pulses, pulse_text); },
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
              [](const C& c) { return write_each(c.impulses, impulse_text); },
              [](C& c, const std::string& text) {
                c.impulses = read_each<Impulse>(text, parse_impulse);
              })
          .add_text(
              {.name = "carriers",
               .help = "frequency=,amplitude= and if wanted width=,start=,duration=,period=,"
                       "duty=: interference at a frequency (MHz)",
               .option = "carrier",
               .separator = ';',
               .kind = core::FieldKind::list},
              [](const C& c) { return write_each(c.carriers, carrier_text); },
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
